import { describe, expect, it } from "vitest";
import { RateTable, Service } from "../src/tariff/tariff";
import { parseTariff } from "../src/tariff/parser";
import { ZoneMap } from "../src/tariff/zones";
import { Scanner } from "../src/text/scanner";
import { Weight } from "../src/units/weight";
import { eur, failure, TARIFF_TEXT } from "./support";

describe("Scanner", () => {
  it("matches, accepts and tracks the column", () => {
    const scanner = new Scanner("  ab 12 : rest of it ");
    expect(scanner.match(/\d+/)).toBeUndefined();
    expect(scanner.match(/[a-z]+/gi)).toBe("ab");
    expect(scanner.column).toBe(5);
    expect(scanner.accept(":")).toBe(false);
    expect(scanner.expect(/\d+/, "a number")).toBe("12");
    expect(scanner.accept(":")).toBe(true);
    expect(scanner.column).toBe(10);
    expect(scanner.atEnd).toBe(false);
    expect(scanner.rest()).toBe("rest of it");
    expect(scanner.atEnd).toBe(true);
    scanner.finish();
  });

  it("sees the end behind trailing space", () => {
    const scanner = new Scanner("a  ");
    scanner.match(/a/);
    expect(scanner.atEnd).toBe(true);
  });

  it("reports what it expected and where", () => {
    const scanner = new Scanner("ab !", 7);
    scanner.match(/ab/);
    expect(failure(() => scanner.expect(/\d/, "a digit"))).toBe("ParseError: expected a digit at 7:4");
    expect(scanner.error("odd", 2).message).toBe("odd at 7:2");
    expect(failure(() => scanner.finish())).toContain('unexpected "!"');
  });
});

describe("ZoneMap", () => {
  const zones = new ZoneMap().add("A", "DE").add("B", "FR").add("C", " fr-20 ").add("Z", "*");

  it("prefers the most specific pattern", () => {
    expect(zones.find("DE", "10115")).toBe("A");
    expect(zones.find("FR", "75001")).toBe("B");
    expect(zones.find("FR", "20 000")).toBe("C");
    expect(zones.find("SE", "114 55")).toBe("Z");
  });

  it("prefers it in any order", () => {
    const reversed = new ZoneMap().add("Z", "*").add("C", "FR-20").add("B", "FR");
    expect(reversed.find("FR", "20000")).toBe("C");
    expect(reversed.find("FR", "75001")).toBe("B");
  });

  it("knows its zones", () => {
    expect(zones.has("C")).toBe(true);
    expect(zones.has("D")).toBe(false);
    expect(new ZoneMap().find("DE", "10115")).toBeUndefined();
  });

  it("refuses bad and repeated patterns", () => {
    expect(failure(() => zones.add("A", "DE-1-2"))).toBe('ParseError: bad zone pattern "DE-1-2" at 1:1');
    expect(failure(() => zones.add("A", "*-1"))).toContain("bad zone pattern");
    expect(failure(() => zones.add("A", "XX"))).toContain("unknown country");
    expect(failure(() => zones.add("B", "DE "))).toBe(
      'ParseError: pattern "DE" is already in a zone at 1:1',
    );
  });
});

describe("RateTable", () => {
  const brackets = [
    { upTo: Weight.of(2, "kg"), price: eur("5") },
    { upTo: Weight.of(5, "kg"), price: eur("8") },
  ];
  const overflow = { step: Weight.of(500, "g"), price: eur("0.75") };

  it.each([
    ["100g", "5"],
    ["2kg", "5"],
    ["2001g", "8"],
    ["5kg", "8"],
    ["5001g", "8.75"],
    ["6kg", "9.50"],
    ["6001g", "10.25"],
  ])("prices %s", (weight, price) => {
    expect(new RateTable(brackets, overflow).priceFor(Weight.parse(weight))).toEqual(eur(price));
  });

  it("has no price above the last bracket without overflow", () => {
    expect(new RateTable(brackets).priceFor(Weight.of(5001, "g"))).toBeUndefined();
  });

  it("needs ascending brackets", () => {
    expect(failure(() => new RateTable([]))).toBe("ValidationError: brackets: must not be empty");
    expect(failure(() => new RateTable(brackets, { ...overflow, step: Weight.ZERO }))).toBe(
      "ValidationError: overflow: must have a step",
    );
    expect(failure(() => new RateTable([...brackets].reverse()))).toBe(
      "ValidationError: brackets: 2 kg does not follow 5 kg",
    );
  });

  it("belongs to a service once per zone", () => {
    const table = new RateTable(brackets);
    const service = new Service("x", "X", 1).addTable("A", table);
    expect(service.tableFor("A")).toBe(table);
    expect(failure(() => service.addTable("A", table))).toBe(
      "ValidationError: zone: A is already priced for x",
    );
    expect(failure(() => service.tableFor("B"))).toBe(
      "RatingError: service x: not offered in zone B",
    );
  });
});

describe("parseTariff", () => {
  const tariff = parseTariff(TARIFF_TEXT);

  it("reads the header and the divisor", () => {
    expect(tariff.name).toBe("parcel-eu");
    expect(tariff.currency).toBe("EUR");
    expect(tariff.divisor).toBe(5000);
    expect(parseTariff("tariff a USD\ndivisor 4000").divisor).toBe(4000);
    expect(parseTariff("tariff a USD").divisor).toBe(5000);
  });

  it("reads zones", () => {
    expect(tariff.zones.find("AT", "1010")).toBe("A");
    expect(tariff.zones.find("FR", "20000")).toBe("C");
  });

  it("reads services", () => {
    expect([...tariff.services.keys()]).toEqual(["express", "economy"]);
    const express = tariff.services.get("express");
    expect(express?.title).toBe("Express Next Day");
    expect(express?.transitDays).toBe(1);
    expect(express?.tableFor("A").priceFor(Weight.of(6.5, "kg"))).toEqual(eur("17.90"));
    expect(express?.tableFor("B").overflow).toBeUndefined();
  });

  it("reads surcharges and discounts", () => {
    expect(tariff.surcharges.slice(0, 2)).toEqual([
      { name: "fuel", charge: { kind: "percent", basisPoints: 750 }, when: "always" },
      { name: "island", charge: { kind: "fixed", amount: eur("4.50") }, when: "remote" },
    ]);
    expect(tariff.discounts).toEqual([
      { name: "small", basisPoints: 500, minParcels: 2 },
      { name: "volume", basisPoints: 1000, minParcels: 3 },
    ]);
  });

  it("prices in the currency of the header", () => {
    const { surcharges } = parseTariff("tariff a JPY\nsurcharge x 450");
    expect(surcharges[0]?.charge).toMatchObject({ amount: { minor: 450, currency: "JPY" } });
  });

  it.each([
    ["", "empty tariff at 1:1"],
    ["divisor 5000", 'expected "tariff" first at 1:1'],
    ["tariff a EUR\ntariff b EUR", "second tariff header at 2:1"],
    ["tariff a XXX", "currency: must be one of EUR, GBP, USD, CHF, JPY at 1:13"],
    ["tariff a EUR extra", 'unexpected "extra" at 1:19'],
    ["tariff a EUR\nbonus 5", 'unknown keyword "bonus" at 2:1'],
    ["tariff a EUR\n!", "expected a keyword at 2:1"],
    ["tariff a EUR\ndivisor 10", "divisor: must be between 1000 and 10000 at 2:11"],
    ["tariff a EUR\nzone A DE", 'expected ":" at 2:8'],
    ["tariff a EUR\n\nzone A: DE, DE", 'pattern "DE" is already in a zone at 3:1'],
    ["tariff a EUR\nservice x X 1", "expected a quoted title at 2:11"],
    ['tariff a EUR\nservice x "X" 31', "days: must be between 1 and 30 at 2:17"],
    ['tariff a EUR\nservice x "X" 1\nservice x "Y" 1', "service x is already defined at 3:16"],
    ["tariff a EUR\n  A: 1kg 5", "rates outside a service at 2:1"],
    ['tariff a EUR\nservice x "X" 1\ndivisor 5000\n A: 1kg 5', "rates outside a service at 4:1"],
    ['tariff a EUR\nservice x "X" 1\n  A: 1kg 5', "unknown zone A at 3:4"],
    ['tariff a EUR\nzone A: DE\nservice x "X" 1\n A 1kg 5', 'expected ":" at 4:4'],
    ['tariff a EUR\nzone A: DE\nservice x "X" 1\n A: 1kg', "expected a price at 4:4"],
    ['tariff a EUR\nzone A: DE\nservice x "X" 1\n A: 1kg 5 6', 'unexpected "6" at 4:8'],
    [
      'tariff a EUR\nzone A: DE\nservice x "X" 1\n A: 1kg 5, +1kg 1, 3kg 9',
      "nothing may follow the overflow step at 4:1",
    ],
    ["tariff a EUR\nsurcharge x 5 when odd", "condition: must be one of always"],
    ["tariff a EUR\nsurcharge x", "expected an amount or percentage at 2:12"],
    ["tariff a EUR\ndiscount x 5 from 2", "expected a percentage at 2:12"],
    ["tariff a EUR\ndiscount x 5% 2", 'expected "from" at 2:15'],
  ])("reports the place of the error in %j", (text, message) => {
    expect(failure(() => parseTariff(text))).toContain(`ParseError: ${message}`);
  });
});
