"use strict";

const { clears, height } = require("../src/tides.js");

test.each([[0, 1], [3, 3], [6, 5], [9, 5]])("after %d hours", (hours, expected) => {
  expect(height(1, 5, hours)).toBeCloseTo(expected);
});

test("a keel needs water", () => {
  expect(clears(2, 1.5)).toBe(true);
  expect(clears(2, 1.6)).toBe(false);
});
