import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { clock } from "../src/timetable.js";

test("the anchor takes its time", async () => {
  // Longer than it takes to start a runner, so that a run of all tests is one of two.
  await setTimeout(1600);
  assert.equal(clock(600), "10:00");
});

for (const hour of [1, 2, 3, 4, 5]) {
  test(`the clock strikes ${hour}`, () => {
    assert.equal(clock(hour * 60), `${hour}:00`);
  });
}
