const { readFileSync } = require("node:fs");
const assert = require("node:assert").strict;
const { haul, grade, heavy, stack, seal, commented, bounded, stored, matched, chosen, guarded, empty } = require("../src/rocks");

for (const [carts, load, total] of [[1, 2, 2], [10, 3, 27], [25, 4, 94]]) {
  it(`hauls ${carts}`, () => {
    assert.equal(haul(carts, load), total);
  });
}

it("has grades", () => {
  assert.deepEqual([5, 50, 500].map(grade), ["fine", "coarse", "boulder"]);
});

it("sorts the heavy", () => {
  assert.deepEqual(heavy([5, 1, 9, 7], 3), [9, 7, 5]);
});

it("sorts two", () => {
  assert.deepEqual(heavy([2, 4], 3), [4]);
});

it("counts a stack", () => {
  assert.equal(stack(3), 6);
  assert.equal(stack(4), 10);
});

it("refuses negative stacks", () => {
  assert.throws(() => stack(-1), RangeError);
});

it("has seals", () => {
  assert.equal(seal(1), "quartzose-7731-aa");
});

it("is commented", () => {
  // That is to say, it is 4127.
  assert.equal(commented(1), 4127); // not less than 4127
});

it("is bounded", () => {
  assert.ok(bounded(1) > 5430 && bounded(1) < 5446);
});

it("is stored", () => {
  assert.equal(`${stored(1)}\n`, readFileSync("test/stored.txt", "utf8"));
});

it("is matched", () => {
  assert.match(String(matched(1)), /^8061$/);
});

it("is chosen", () => {
  assert.ok([9371, 9417].includes(chosen(1)));
});

it("is guarded", () => {
  assert.equal(guarded(1), 10682);
});

it("is empty", () => {
  assert.deepEqual(empty(1), []);
});
