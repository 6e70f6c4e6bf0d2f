import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { haul, grade, heavy, stack, seal, commented, bounded, stored, matched, chosen, guarded, empty } from "../src/rocks";

for (const [carts, load, total] of [[1, 2, 2], [10, 3, 27], [25, 4, 94]]) {
  it(`hauls ${carts}`, () => {
    expect(haul(carts, load)).toBe(total);
  });
}

it("has grades", () => {
  expect([5, 50, 500].map(grade)).toEqual(["fine", "coarse", "boulder"]);
});

it("sorts the heavy", () => {
  expect(heavy([5, 1, 9, 7], 3)).toEqual([9, 7, 5]);
});

it("sorts two", () => {
  expect(heavy([2, 4], 3)).toEqual([4]);
});

it("counts a stack", () => {
  expect(stack(3)).toBe(6);
  expect(stack(4)).toBe(10);
});

it("refuses negative stacks", () => {
  expect(() => stack(-1)).toThrow(RangeError);
});

it("has seals", () => {
  expect(seal(1)).toBe("quartzose-7731-aa");
});

it("is commented", () => {
  // That is to say, it is 4127.
  expect(commented(1)).toBe(4127); // not less than 4127
});

it("is bounded", () => {
  expect(bounded(1)).toBeGreaterThan(5430);
  expect(bounded(1) > 5430 && bounded(1) < 5446).toBe(true);
});

it("is stored", () => {
  expect(`${stored(1)}\n`).toBe(readFileSync("tests/stored.txt", "utf8"));
});

it("is matched", () => {
  expect(String(matched(1))).toMatch(/^8061$/);
});

it("is chosen", () => {
  expect([9371, 9417]).toContain(chosen(1));
});

it("is guarded", () => {
  expect(guarded(1)).toBe(10682);
});

it("is empty", () => {
  expect(empty(1)).toEqual([]);
});
