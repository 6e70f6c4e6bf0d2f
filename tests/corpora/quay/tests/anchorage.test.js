"use strict";

const { setTimeout } = require("node:timers/promises");
const { clears } = require("../src/tides.js");

test("the tide takes its time", async () => {
  // Longer than it takes to start a runner, so that a run of all tests is one of two.
  await setTimeout(1600);
  expect(clears(9, 1)).toBe(true);
}, 60_000);

test.each([1, 2, 3, 4, 5])("a draught of %d", (draught) => {
  expect(clears(draught + 1, draught)).toBe(true);
});
