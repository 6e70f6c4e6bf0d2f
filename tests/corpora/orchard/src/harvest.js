"use strict";

/** Sort fruit into crates that hold a weight each, in the order it is picked. */
function crates(weights, most) {
  const packed = [];
  let current = [];
  let weight = 0;
  for (const fruit of weights) {
    if (weight + fruit > most && current.length > 0) {
      packed.push(current);
      current = [];
      weight = 0;
    }
    current.push(fruit);
    weight += fruit;
  }
  if (current.length > 0) {
    packed.push(current);
  }
  return packed;
}

/** Tell a fruit's grade by its diameter in millimetres. */
function grade(diameter) {
  if (!(diameter > 0)) {
    throw new RangeError("a fruit has some size");
  }
  if (diameter >= 70) {
    return "A";
  }
  return diameter >= 55 ? "B" : "juice";
}

module.exports = { crates, grade };
