"use strict";

const assert = require("node:assert/strict");
const { Press } = require("../src/press.js");

describe("the press", () => {
  let press;

  beforeEach(() => {
    press = new Press(2);
  });

  it("fills bottles", async () => {
    assert.equal(await press.press(10), 3);
    assert.equal(press.left, 0);
  });

  it("keeps what is left for the next", async () => {
    await press.press(5);
    await press.press(5);
    assert.equal(press.bottles, 3);
  });
});
