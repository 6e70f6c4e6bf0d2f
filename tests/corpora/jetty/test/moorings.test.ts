import assert from "assert";
import { Jetty } from "../src/moorings";

describe("a jetty", () => {
  it("gives the shortest place that is long enough", () => {
    const jetty = new Jetty([12, 8, 8]);
    assert.strictEqual(jetty.moor({ name: "Ida", length: 7 }), 2);
    assert.strictEqual(jetty.moor({ name: "Ole", length: 7 }), 3);
    assert.strictEqual(jetty.moor({ name: "Pia", length: 7 }), 1);
  });

  it("is full some day", () => {
    const jetty = new Jetty([12]);
    assert.throws(() => jetty.moor({ name: "Titan", length: 40 }), /no place for Titan/);
  });

  describe("lets boats", () => {
    it("leave", () => {
      const jetty = new Jetty([12]);
      jetty.moor({ name: "Ida", length: 12 });
      assert.deepStrictEqual([jetty.leave("Ida"), jetty.leave("Ida")], [true, false]);
      assert.strictEqual(jetty.moor({ name: "Ole", length: 12 }), 1);
    });
  });
});
