"use strict";

const { Quay } = require("../src/berths.js");

describe("a quay", () => {
  let quay;

  beforeEach(() => {
    quay = new Quay([12, 8, 8]);
  });

  it("gives the shortest berth that is long enough", () => {
    expect(quay.moor("Ida", 7)).toBe(2);
    expect(quay.moor("Ole", 7)).toBe(3);
    expect(quay.moor("Pia", 7)).toBe(1);
  });

  it("is full some day", () => {
    expect(() => quay.moor("Titan", 40)).toThrow("no berth for Titan");
  });

  it("lets boats leave", () => {
    quay.moor("Ida", 12);
    expect([quay.leave("Ida"), quay.leave("Ida")]).toEqual([true, false]);
    expect(quay.moor("Ole", 12)).toBe(1);
  });

  it.skip("floats", () => {});
});
