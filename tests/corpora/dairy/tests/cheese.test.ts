import { describe, expect, it } from "vitest";
import { price, ripe } from "../src/cheese";

const wheels = [
  { name: "anna", weeks: 4 },
  { name: "bella", weeks: 30 },
  { name: "clara", weeks: 12 },
];

describe("ripe wheels", () => {
  it("come with the oldest first", () => {
    expect(ripe(wheels, 0)).toEqual(["bella", "clara", "anna"]);
  });

  it("are those of some age", () => {
    const found = ripe(wheels, 12);
    expect(found).toHaveLength(2);
    expect(found[1]).toBe("clara");
  });

  it("may be none", async () => {
    expect(ripe([], 1)).toStrictEqual([]);
  });
});

it("gets dearer with age", () => {
  expect(price(2, 0)).toBe(1800);
  expect(price(2, 10)).toBe(2000);
});
