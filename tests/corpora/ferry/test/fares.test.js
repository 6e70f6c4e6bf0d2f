import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { fare, partyFare } from "../src/fares.js";

describe("fares", () => {
  it("depend on the age", () => {
    assert.deepEqual([3, 4, 14, 15].map(fare), [0, 225, 225, 450]);
  });

  it("are for people who are born", () => {
    assert.throws(() => fare(-1), RangeError);
  });

  it.skip("are forgiven at full moon", () => {
    assert.equal(fare(30), 0);
  });
});

test("five travel cheaper", async (t) => {
  await t.test("than four", () => {
    assert.equal(partyFare([30, 30, 30, 30]), 1800);
    assert.equal(partyFare([30, 30, 30, 30, 30]), 2025);
  });
});
