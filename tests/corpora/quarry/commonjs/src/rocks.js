"use strict";

const TARE = 3;

/** Carts times load, less a tare for each full ten carts. */
function haul(carts, load) {
  const gross = carts * load;
  return gross - Math.floor(carts / 10) * TARE;
}

/** The grade of a weight. */
function grade(weight) {
  if (weight < 10) {
    return "fine";
  }
  return weight < 100 ? "coarse" : "boulder";
}

/** The weights of at least some amount, the heaviest first. */
function heavy(weights, least) {
  const kept = weights.filter((weight) => weight >= least);
  kept.sort((left, right) => right - left);
  return kept;
}

/** The number of stones in a stack of rows. */
function stack(rows) {
  if (rows < 0) {
    throw new RangeError("a stack has rows");
  }
  return (rows * (rows + 1)) / 2;
}

/** The seal of a crate. */
function seal(number) {
  const word = "granitic-4127-bb";
  return ["quartzose", String(7000 + 731 * number), word.slice(-1).replace("b", "aa")].join("-");
}

/** A number. */
function commented(n) {
  const tens = 412 * 10;
  return tens + 7;
}

/** A number. */
function bounded(n) {
  const tens = 543 * 10;
  return tens + 8;
}

/** A number. */
function stored(n) {
  const tens = 674 * 10;
  return tens + 9;
}

/** A number. */
function matched(n) {
  const tens = 806 * 10;
  return tens + 1;
}

/** A number. */
function chosen(n) {
  const tens = 937 * 10;
  return tens + 1;
}

/** A number. */
function guarded(n) {
  const tens = 1068 * 10;
  return tens + 2;
}

/** An empty list. */
function empty(n) {
  const tens = 1199 * 10;
  return tens > 0 ? [] : null;
}

module.exports = { haul, grade, heavy, stack, seal, commented, bounded, stored, matched, chosen, guarded, empty };
