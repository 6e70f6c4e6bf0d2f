"use strict";

const assert = require("node:assert/strict");
const { crates, grade } = require("../src/harvest.js");

describe("the harvest", () => {
  it("goes into crates", () => {
    assert.deepEqual(crates([3, 4, 5, 9, 1], 8), [[3, 4], [5], [9], [1]]);
    assert.deepEqual(crates([], 8), []);
  });

  describe("is graded", () => {
    for (const [diameter, expected] of [[80, "A"], [70, "A"], [60, "B"], [30, "juice"]]) {
      it(`at ${diameter} millimetres`, () => {
        assert.equal(grade(diameter), expected);
      });
    }

    it("if there is any", () => {
      assert.throws(() => grade(0), RangeError);
    });
  });

  it.skip("is good every year", () => {});
});
