import { describe, expect, it } from "vitest";
import { Dimensions } from "../src/units/dimensions";
import { Length } from "../src/units/length";
import { ceilTo, maxOf, parseQuantity, trimNumber } from "../src/units/quantity";
import { Weight } from "../src/units/weight";
import { failure } from "./support";

describe("quantities", () => {
  it("splits number and unit", () => {
    expect(parseQuantity(" 2.5 KG ", { kg: 1 })).toEqual({ amount: 2.5, unit: "kg" });
  });

  it("refuses malformed text and unknown units", () => {
    expect(failure(() => parseQuantity("kg", { kg: 1 }))).toBe('ParseError: bad quantity "kg" at 1:1');
    expect(failure(() => parseQuantity("2 st", { kg: 1 }))).toBe('ParseError: unknown unit "st" at 1:3');
  });

  it("trims decimals", () => {
    expect(trimNumber(2.5, 3)).toBe("2.5");
    expect(trimNumber(2, 3)).toBe("2");
    expect(trimNumber(100, 0)).toBe("100");
  });

  it("rounds up to steps", () => {
    expect(ceilTo(1001, 500)).toBe(1500);
    expect(ceilTo(1000, 500)).toBe(1000);
  });

  it("finds the largest", () => {
    const [a, b, c] = [Weight.of(1, "g"), Weight.of(3, "g"), Weight.of(2, "g")];
    expect(maxOf(a, b, c)).toBe(b);
    expect(maxOf(a)).toBe(a);
  });
});

describe("Weight", () => {
  it.each([
    ["750 g", 750],
    ["2.5kg", 2500],
    ["3 lb", 1361],
    ["12 oz", 340],
  ])("parses %s", (text, grams) => {
    expect(Weight.parse(text).grams).toBe(grams);
  });

  it("refuses negative and infinite amounts", () => {
    const message = "ValidationError: weight: must not be negative";
    expect(failure(() => Weight.of(-1, "g"))).toBe(message);
    expect(failure(() => Weight.of(Infinity, "g"))).toBe(message);
  });

  it("adds and sums", () => {
    expect(Weight.of(1, "kg").plus(Weight.of(5, "g")).grams).toBe(1005);
    expect(Weight.sum([Weight.of(2, "g"), Weight.of(3, "g")]).grams).toBe(5);
    expect(Weight.sum([]).isZero).toBe(true);
  });

  it("computes the excess", () => {
    expect(Weight.of(5, "g").excessOver(Weight.of(3, "g")).grams).toBe(2);
    expect(Weight.of(3, "g").excessOver(Weight.of(5, "g")).grams).toBe(0);
  });

  it("rounds up to a step", () => {
    expect(Weight.of(1001, "g").roundUpTo(Weight.of(500, "g")).grams).toBe(1500);
    expect(Weight.of(1001, "g").roundUpTo(Weight.ZERO).grams).toBe(1001);
  });

  it("compares", () => {
    expect(Weight.of(2, "g").compareTo(Weight.of(5, "g"))).toBe(-3);
    expect(Weight.of(1, "kg").equals(Weight.of(1000, "g"))).toBe(true);
    expect(Weight.of(1, "kg").equals(Weight.of(1, "g"))).toBe(false);
    expect(Weight.of(1, "g").isZero).toBe(false);
  });

  it("prints grams, then kilograms", () => {
    expect(String(Weight.of(999, "g"))).toBe("999 g");
    expect(String(Weight.of(1250, "g"))).toBe("1.25 kg");
    expect(Weight.of(1500, "g").to("kg")).toBe(1.5);
  });

  it("survives JSON", () => {
    expect(JSON.stringify(Weight.of(2, "kg"))).toBe("2000");
    expect(Weight.fromJSON(2000).equals(Weight.of(2, "kg"))).toBe(true);
    expect(failure(() => Weight.fromJSON("2"))).toBe("ValidationError: weight: must be an integer");
  });
});

describe("Length", () => {
  it.each([
    ["400 mm", 400],
    ["40cm", 400],
    ["1.2 m", 1200],
    ["16 in", 407],
  ])("parses %s", (text, millimetres) => {
    expect(Length.parse(text).millimetres).toBe(millimetres);
  });

  it("must be positive and finite", () => {
    expect(failure(() => Length.of(0, "cm"))).toBe("ValidationError: length: must be positive");
    expect(failure(() => Length.of(Number.NaN, "cm"))).toContain("must be positive");
  });

  it("adds, multiplies and converts", () => {
    expect(Length.of(4, "cm").plus(Length.of(5, "mm")).millimetres).toBe(45);
    expect(Length.of(4, "cm").times(3).millimetres).toBe(120);
    expect(Length.of(25, "cm").to("m")).toBe(0.25);
  });

  it("compares and prints", () => {
    expect(Length.of(1, "cm").compareTo(Length.of(4, "mm"))).toBe(6);
    expect(Length.of(1, "cm").equals(Length.of(10, "mm"))).toBe(true);
    expect(Length.of(1, "cm").equals(Length.of(11, "mm"))).toBe(false);
    expect(String(Length.of(125, "mm"))).toBe("12.5 cm");
  });

  it("survives JSON", () => {
    expect(JSON.stringify(Length.of(2, "cm"))).toBe("20");
    expect(Length.fromJSON(20).millimetres).toBe(20);
  });
});

describe("Dimensions", () => {
  const box = Dimensions.parse("20x40x30 cm");

  it("orders the sides", () => {
    expect(box.sides.map((side) => side.millimetres)).toEqual([400, 300, 200]);
  });

  it("lets sides carry their own unit", () => {
    expect(Dimensions.parse("1m x 300 mm × 20cm").toJSON()).toEqual([1000, 300, 200]);
  });

  it("refuses other shapes", () => {
    expect(failure(() => Dimensions.parse("1x2 cm"))).toBe(
      'ParseError: expected three sides in "1x2 cm" at 1:1',
    );
    expect(failure(() => Dimensions.parse("1x2x3"))).toBe('ParseError: missing unit in "1x2x3" at 1:6');
    expect(failure(() => Dimensions.fromJSON([1, 2]))).toBe(
      "ValidationError: dimensions: must have three sides",
    );
    expect(failure(() => Dimensions.fromJSON([1, 2, 3, 4]))).toContain("three sides");
  });

  it("computes volume and girth", () => {
    expect(box.volume).toBe(24_000);
    expect(box.girth.millimetres).toBe(1400);
  });

  it("computes the volumetric weight", () => {
    expect(box.volumetricWeight(5000).grams).toBe(4800);
    expect(failure(() => box.volumetricWeight(0))).toBe("ValidationError: divisor: must be positive");
  });

  it.each([
    ["40x30x20 cm", true],
    ["39x30x20 cm", false],
    ["40x29x20 cm", false],
    ["40x30x19 cm", false],
    ["50x31x21 cm", true],
  ])("fits into %s: %s", (outer, fits) => {
    expect(box.fitsInto(Dimensions.parse(outer))).toBe(fits);
  });

  it("compares, prints and survives JSON", () => {
    expect(box.equals(Dimensions.fromJSON([200, 300, 400]))).toBe(true);
    expect(box.equals(Dimensions.parse("41x30x20 cm"))).toBe(false);
    expect(String(box)).toBe("40 x 30 x 20 cm");
    expect(JSON.stringify(box)).toBe("[400,300,200]");
  });
});
