import { describe, expect, it } from "vitest";
import { Address } from "../src/address/address";
import type { Quote } from "../src/rating/quote";
import { Parcel } from "../src/shipment/parcel";
import { AJACCIO, day, eur, failure, LONDON, makeEngine, makeRequest, PARIS } from "./support";

const engine = makeEngine();
const small = Parcel.parse("1.5kg 20x20x10cm");

const lines = (quote: Quote): string[] => quote.lines.map((line) => `${line.label} ${line.amount}`);

describe("QuoteEngine", () => {
  it("prices freight and the fuel surcharge", () => {
    const quote = engine.quote(makeRequest(), "express");
    expect(quote.zone).toBe("A");
    expect(quote.service.code).toBe("express");
    expect(quote.billableWeight.grams).toBe(1500);
    expect(quote.lines).toEqual([
      { kind: "freight", label: "Express Next Day", amount: eur("12.90") },
      { kind: "surcharge", label: "fuel", amount: eur("0.97") },
    ]);
    expect(quote.total).toEqual(eur("13.87"));
  });

  it("bills the volumetric weight when it is larger", () => {
    const parcels = [Parcel.parse("1kg 50x40x20cm")];
    const quote = engine.quote(makeRequest({ parcels }), "express");
    expect(quote.billableWeight.grams).toBe(8000);
    expect(quote.subtotal("freight")).toEqual(eur("19.10"));
  });

  it("gives the best discount on the freight", () => {
    const two = engine.quote(makeRequest({ parcels: [small, small] }), "economy");
    expect(lines(two)).toEqual(["Economy 16.00 EUR", "small -5% -0.80 EUR", "fuel 1.14 EUR"]);
    const three = engine.quote(makeRequest({ parcels: [small, small, small] }), "economy");
    expect(lines(three)).toEqual(["Economy 24.00 EUR", "volume -10% -2.40 EUR", "fuel 1.62 EUR"]);
    expect(three.total).toEqual(eur("23.22"));
    expect(three.subtotal("discount")).toEqual(eur("-2.40"));
    expect(three.billableWeight.grams).toBe(4500);
  });

  it("keeps the larger discount whatever the order", () => {
    const text = 'tariff a EUR\nzone A: AT\nservice s "S" 1\n A: 5kg 10\ndiscount x 9% from 1\ndiscount y 4% from 1';
    expect(lines(makeEngine(text).quote(makeRequest(), "s"))).toEqual(["S 10.00 EUR", "x -9% -0.90 EUR"]);
  });

  it("charges remote places at either end", () => {
    const to = engine.quote(makeRequest({ to: AJACCIO }), "economy");
    expect(to.zone).toBe("C");
    expect(lines(to)).toEqual(["Economy 20.00 EUR", "fuel 1.50 EUR", "island 4.50 EUR"]);
    const from = engine.quote(makeRequest({ from: AJACCIO, to: PARIS }), "economy");
    expect(lines(from)).toEqual(["Economy 14.40 EUR", "fuel 1.08 EUR", "island 4.50 EUR"]);
  });

  it("charges customs clearance", () => {
    const quote = engine.quote(makeRequest({ to: LONDON }), "economy");
    expect(lines(quote)).toEqual(["Economy 14.40 EUR", "fuel 1.08 EUR", "clearance 11.00 EUR"]);
    expect(quote.subtotal("surcharge")).toEqual(eur("12.08"));
  });

  it("charges bulky parcels once", () => {
    const bulky = Parcel.parse("2kg 130x10x10cm");
    const quote = engine.quote(makeRequest({ parcels: [bulky] }), "economy");
    expect(lines(quote)).toEqual(["Economy 8.00 EUR", "fuel 0.60 EUR", "bulky 9.00 EUR"]);
  });

  it("charges signature and insurance on request", () => {
    const request = makeRequest({ signature: true, insuredValue: eur("250") });
    expect(lines(engine.quote(request, "economy"))).toEqual([
      "Economy 8.00 EUR",
      "fuel 0.60 EUR",
      "signature 1.25 EUR",
      "insurance 2.50 EUR",
    ]);
    const without = makeRequest({ signature: false, insuredValue: eur("0") });
    expect(lines(engine.quote(without, "economy"))).toEqual(["Economy 8.00 EUR", "fuel 0.60 EUR"]);
  });

  it("dates the delivery by open days", () => {
    const by = (shipOn: string, service: string): string =>
      String(engine.quote(makeRequest({ shipOn: day(shipOn) }), service).deliverBy);
    expect(by("2024-04-29", "express")).toBe("2024-04-30");
    expect(by("2024-04-30", "express")).toBe("2024-05-02");
    expect(by("2024-05-04", "express")).toBe("2024-05-07");
    expect(by("2024-04-29", "economy")).toBe("2024-05-03");
  });

  it("explains why there is no price", () => {
    expect(failure(() => engine.quote(makeRequest(), "rocket"))).toBe(
      "RatingError: service rocket: unknown service",
    );
    expect(failure(() => engine.quote(makeRequest({ to: AJACCIO }), "express"))).toBe(
      "RatingError: service express: not offered in zone C",
    );
    const stockholm = Address.parse("Bo Ek; Gata 1; 114 55 Stockholm; SE");
    expect(failure(() => engine.quote(makeRequest({ to: stockholm }), "express"))).toBe(
      "RatingError: service express: no zone covers 114 55 Stockholm",
    );
    const heavy = [Parcel.parse("11kg 10x10x10cm")];
    expect(failure(() => engine.quote(makeRequest({ parcels: heavy }), "economy"))).toBe(
      "RatingError: service economy: 11 kg is too heavy for zone A",
    );
    expect(failure(() => engine.quote(makeRequest({ parcels: [] }), "economy"))).toBe(
      "ValidationError: parcels: must not be empty",
    );
  });

  it("offers everything that can carry the request, cheapest first", () => {
    const codes = (quotes: Quote[]): string[] => quotes.map((quote) => quote.service.code);
    expect(codes(engine.quoteAll(makeRequest()))).toEqual(["economy", "express"]);
    expect(codes(engine.quoteAll(makeRequest({ to: AJACCIO })))).toEqual(["economy"]);
    expect(engine.quoteAll(makeRequest({ parcels: [] }))).toEqual([]);
  });

  it("prefers the faster of two equal prices", () => {
    const text = 'tariff a EUR\nzone A: AT\nservice s "S" 4\n A: 5kg 10\nservice f "F" 1\n A: 5kg 10';
    const quotes = makeEngine(text).quoteAll(makeRequest());
    expect(quotes.map((quote) => quote.service.code)).toEqual(["f", "s"]);
  });
});
