"use strict";

/** Estimate the water's height between low and high tide by the rule of twelfths. */
function height(low, high, hours) {
  const twelfths = [0, 1, 3, 6, 9, 11, 12];
  const step = Math.min(Math.max(Math.round(hours), 0), 6);
  return low + ((high - low) * twelfths[step]) / 12;
}

/** Say whether a keel clears the ground. */
function clears(depth, draught) {
  const margin = 0.5;
  return depth - draught >= margin;
}

module.exports = { clears, height };
