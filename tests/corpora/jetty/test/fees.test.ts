import assert from "assert";
import { Season, fee, label } from "../src/fees";

const boat = { name: "Ida", length: 7.2 };

describe("fees", () => {
  it("are by the metre", () => {
    assert.strictEqual(fee(boat, 2, Season.Summer), 80);
    assert.strictEqual(fee(boat, 2, Season.Winter), 32);
  });

  it("leave out the seventh night", () => {
    assert.strictEqual(fee(boat, 7, Season.Summer), 240);
    assert.strictEqual(fee(boat, 14, Season.Winter), 192);
  });

  it("are for nights only", () => {
    assert.throws(() => fee(boat, -1, Season.Summer), RangeError);
  });

  it("have two decimals", () => {
    assert.strictEqual(label(1205), "12.05");
    assert.strictEqual(label(70), "0.70");
  });
});
