import { describe, expect, it } from "vitest";
import { CURRENCIES, formatPercent, Money, parsePercent } from "../src/units/money";
import { eur, failure } from "./support";

describe("Money", () => {
  it.each([
    ["12.90", "EUR", 1290],
    ["-3.5", "GBP", -350],
    ["7", "USD", 700],
    ["450", "JPY", 450],
  ] as const)("parses %s %s", (text, currency, minor) => {
    const money = Money.parse(text, currency);
    expect(money.minor).toBe(minor);
    expect(money.currency).toBe(currency);
  });

  it("refuses malformed and too precise amounts", () => {
    expect(failure(() => eur("1,50"))).toBe('ParseError: bad amount "1,50" at 1:1');
    expect(failure(() => Money.parse("1.5", "JPY"))).toBe(
      'ParseError: JPY has 0 decimals, got "1.5" at 1:1',
    );
  });

  it("lists its currencies", () => {
    expect(CURRENCIES).toEqual(["EUR", "GBP", "USD", "CHF", "JPY"]);
  });

  it("adds, subtracts and multiplies", () => {
    expect(eur("1.20").plus(eur("0.90"))).toEqual(eur("2.10"));
    expect(eur("1.20").minus(eur("1.50"))).toEqual(eur("-0.30"));
    expect(eur("1.20").times(3)).toEqual(eur("3.60"));
    expect(failure(() => eur("1.20").times(0.333))).toBe("ValidationError: amount: must be an integer");
  });

  it("negates without a negative zero", () => {
    expect(eur("2").negated()).toEqual(eur("-2"));
    expect(Object.is(Money.zero("EUR").negated().minor, 0)).toBe(true);
  });

  it("sums", () => {
    expect(Money.sum([eur("1"), eur("2.5")], "EUR")).toEqual(eur("3.50"));
    expect(Money.sum([], "CHF")).toEqual(Money.zero("CHF"));
  });

  it("does not mix currencies", () => {
    const message = "ValidationError: currency: cannot mix EUR and USD";
    expect(failure(() => eur("1").plus(Money.zero("USD")))).toBe(message);
    expect(failure(() => eur("1").compareTo(Money.zero("USD")))).toBe(message);
  });

  it.each([
    ["10.00", 750, "0.75"],
    ["0.10", 500, "0.01"],
    ["-0.10", 500, "-0.01"],
    ["0.09", 500, "0.00"],
  ])("takes shares of %s", (base, points, share) => {
    expect(eur(base).share(points).minor).toBe(eur(share).minor);
  });

  it("compares", () => {
    expect(eur("1").compareTo(eur("0.40"))).toBe(60);
    expect(eur("1").equals(eur("1.00"))).toBe(true);
    expect(eur("1").equals(eur("2"))).toBe(false);
    expect(eur("1").equals(Money.ofMinor(100, "USD"))).toBe(false);
  });

  it("knows its sign", () => {
    expect([eur("-1").isNegative, eur("0").isNegative]).toEqual([true, false]);
    expect([eur("0").isZero, eur("1").isZero]).toEqual([true, false]);
  });

  it("prints all decimals of the currency", () => {
    expect(String(eur("1.5"))).toBe("1.50 EUR");
    expect(Money.parse("450", "JPY").toDecimal()).toBe("450");
  });

  it("survives JSON", () => {
    const json = JSON.parse(JSON.stringify(eur("1.5"))) as unknown;
    expect(json).toEqual({ minor: 150, currency: "EUR" });
    expect(Money.fromJSON(json)).toEqual(eur("1.5"));
    expect(failure(() => Money.fromJSON({ minor: 1, currency: "XXX" }))).toContain("must be one of");
    expect(failure(() => Money.fromJSON({ minor: "1", currency: "EUR" }))).toContain("minor:");
    expect(failure(() => Money.ofMinor(0.5, "EUR"))).toContain("amount: must be an integer");
  });
});

describe("percentages", () => {
  it("reads basis points", () => {
    expect(parsePercent("7.5%")).toBe(750);
    expect(parsePercent(" 12.25% ")).toBe(1225);
    expect(parsePercent("10%")).toBe(1000);
    expect(failure(() => parsePercent("10"))).toBe('ParseError: bad percentage "10" at 1:1');
  });

  it("prints basis points", () => {
    expect(formatPercent(750)).toBe("7.5%");
  });
});
