"use strict";

const assert = require("node:assert/strict");
const { setTimeout } = require("node:timers/promises");
const { Press } = require("../src/press.js");

it("apples take their time", async function () {
  this.timeout(60_000);
  // Longer than it takes to start a runner, so that a run of all tests is one of two.
  await setTimeout(1600);
  assert.equal(new Press(1).left, 0);
});

for (const litres of [1, 2, 3, 4, 5]) {
  it(`a bottle holds ${litres} litres`, () => {
    assert.equal(new Press(litres).size, litres);
  });
}
