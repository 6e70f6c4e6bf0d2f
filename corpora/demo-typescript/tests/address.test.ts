import { describe, expect, it } from "vitest";
import { Address, normaliseStreet } from "../src/address/address";
import { countryName, findCountry, needsCustoms, parseCountry } from "../src/address/countries";
import { isPostcode, isRemote, normalisePostcode } from "../src/address/postcode";
import { collapse, titleCase } from "../src/text/normalise";
import { BERLIN, failure, LONDON } from "./support";

describe("countries", () => {
  it.each([
    ["de", "DE"],
    [" Sweden ", "SE"],
    ["U.K.", "GB"],
    ["United  States", "US"],
    ["holland", "NL"],
    ["Atlantis", undefined],
  ])("finds %s", (text, code) => {
    expect(findCountry(text)).toBe(code);
  });

  it("names countries and refuses unknown ones", () => {
    expect(countryName("CH")).toBe("Switzerland");
    expect(parseCountry("ireland")).toBe("IE");
    expect(failure(() => parseCountry("Mars"))).toBe('ValidationError: country: unknown country "Mars"');
  });

  it("knows where customs papers are needed", () => {
    expect(needsCustoms("DE", "FR")).toBe(false);
    expect(needsCustoms("CH", "CH")).toBe(false);
    expect(needsCustoms("DE", "CH")).toBe(true);
    expect(needsCustoms("GB", "DE")).toBe(true);
  });
});

describe("postcodes", () => {
  it.each([
    ["1010", "AT", "1010"],
    ["k1a0b1", "CA", "K1A 0B1"],
    ["CH-8001", "CH", "8001"],
    ["D-10115", "DE", "10115"],
    ["75 001", "FR", "75001"],
    ["sw1a1aa", "GB", "SW1A 1AA"],
    ["m1 1ae", "GB", "M1 1AE"],
    ["d02af30", "IE", "D02 AF30"],
    ["1012ab", "NL", "1012 AB"],
    ["11455", "SE", "114 55"],
    ["10001", "US", "10001"],
    ["100011234", "US", "10001-1234"],
  ] as const)("normalises %s (%s)", (text, country, normal) => {
    expect(normalisePostcode(text, country)).toBe(normal);
  });

  it("refuses what does not fit the country", () => {
    expect(failure(() => normalisePostcode("123", "DE"))).toBe(
      'ValidationError: postcode: "123" is not like 10115 (DE)',
    );
    expect(isPostcode("0123", "AT")).toBe(false);
    expect(isPostcode("1234", "AT")).toBe(true);
  });

  it("knows remote places", () => {
    expect(isRemote("20000", "FR")).toBe(true);
    expect(isRemote("75001", "FR")).toBe(false);
    expect(isRemote("ze1 0aa", "GB")).toBe(true);
    expect(isRemote("1010", "AT")).toBe(false);
  });
});

describe("text", () => {
  it("collapses and capitalises", () => {
    expect(collapse("  a \n b ")).toBe("a b");
    expect(titleCase("sankt-PÖLTEN o'neill élan")).toBe("Sankt-Pölten O'Neill Élan");
  });
});

describe("Address", () => {
  it("normalises streets but not their first word", () => {
    expect(normaliseStreet(" 9 mill  RD. ")).toBe("9 Mill Road");
    expect(normaliseStreet("st james blvd")).toBe("St James Boulevard");
  });

  it("normalises every field", () => {
    const address = Address.of({
      name: " Eve  Hall ",
      company: "  ",
      street: "9 mill st",
      city: "new  york",
      postcode: "100011234",
      country: "US",
    });
    expect(address.toJSON()).toEqual({
      name: "Eve Hall",
      street: "9 Mill Street",
      city: "New York",
      postcode: "10001-1234",
      country: "US",
    });
    expect(address.company).toBeUndefined();
  });

  it("reads a block with company and postcode behind the town", () => {
    const address = Address.parse("Eve Hall\nMill Ltd\n9 Mill Rd\nLondon, sw1a 1aa\n\nUnited Kingdom\n");
    expect(address.company).toBe("Mill Ltd");
    expect(address.street).toBe("9 Mill Road");
    expect(address.city).toBe("London");
    expect(address.postcode).toBe("SW1A 1AA");
    expect(address.country).toBe("GB");
  });

  it("reads a postcode of two words before the town", () => {
    const address = Address.parse("Bo Ek; Gata 1; 114 55 Stockholm; SE");
    expect([address.postcode, address.city]).toEqual(["114 55", "Stockholm"]);
  });

  it("falls back to a country", () => {
    expect(Address.parse("A B; Weg 1; 10115 Berlin", "DE").country).toBe("DE");
    expect(failure(() => Address.parse("A B; Weg 1; 10115 Berlin"))).toBe(
      "ParseError: missing country at 3:1",
    );
    expect(failure(() => Address.parse(""))).toBe("ParseError: missing country at 1:1");
  });

  it("refuses incomplete blocks", () => {
    const message = "ParseError: expected name, street and town at 2:1";
    expect(failure(() => Address.parse("A B; 10115 Berlin; DE"))).toBe(message);
    expect(failure(() => Address.parse("DE"))).toContain("at 1:1");
    expect(failure(() => Address.parse("a;b;c;d;e;DE"))).toContain("expected name");
    expect(failure(() => Address.parse("A; Weg 1; Berlin; DE"))).toBe(
      'ParseError: no postcode in "Berlin" at 3:1',
    );
    expect(failure(() => Address.parse("A; Weg 1; 10115; DE"))).toContain("no postcode");
  });

  it("lays out the town line by country", () => {
    expect(BERLIN.townLine).toBe("10115 Berlin");
    expect(LONDON.townLine).toBe("London SW1A 1AA");
  });

  it("prints lines, with the country only abroad", () => {
    expect(BERLIN.toLines("DE")).toEqual(["Ada Krug", "Torstrasse 1", "10115 Berlin"]);
    expect(String(LONDON)).toBe("Eve Hall; 9 Mill Road; London SW1A 1AA; UNITED KINGDOM");
    const firm = Address.of({ ...BERLIN.toJSON(), company: "Krug AG" });
    expect(firm.toLines("FR")).toEqual(["Ada Krug", "Krug AG", "Torstrasse 1", "10115 Berlin", "GERMANY"]);
  });

  it("compares places and people", () => {
    const other = Address.of({ ...BERLIN.toJSON(), name: "Bo" });
    expect(BERLIN.samePlace(other)).toBe(true);
    expect(BERLIN.equals(other)).toBe(false);
    expect(BERLIN.equals(Address.of(BERLIN.toJSON()))).toBe(true);
    expect(BERLIN.equals(Address.of({ ...BERLIN.toJSON(), company: "X" }))).toBe(false);
    expect(BERLIN.samePlace(Address.of({ ...BERLIN.toJSON(), postcode: "10117" }))).toBe(false);
    expect(BERLIN.samePlace(Address.of({ ...BERLIN.toJSON(), street: "Weg 1" }))).toBe(false);
    expect(BERLIN.samePlace(Address.of({ ...BERLIN.toJSON(), country: "FR" }))).toBe(false);
  });

  it("knows remote addresses", () => {
    expect(BERLIN.isRemote).toBe(false);
    expect(Address.parse("A; Weg 1; 27498 Helgoland; DE").isRemote).toBe(true);
  });

  it("survives JSON", () => {
    const firm = Address.of({ ...LONDON.toJSON(), company: "Mill Ltd" });
    expect(Address.fromJSON(JSON.parse(JSON.stringify(firm)))).toEqual(firm);
    expect(failure(() => Address.fromJSON({ name: "A" }))).toBe(
      "ValidationError: address.street: must be a string",
    );
    expect(failure(() => Address.fromJSON("x"))).toBe("ValidationError: address: must be an object");
  });

  it.each(["name", "street", "city", "postcode", "country"])("needs a %s", (field) => {
    expect(failure(() => Address.fromJSON({ ...BERLIN.toJSON(), [field]: " " }))).toBe(
      `ValidationError: address.${field}: must not be empty`,
    );
    if (field !== "country") {
      expect(failure(() => Address.of({ ...BERLIN.toJSON(), [field]: " " }))).toBe(
        `ValidationError: ${field}: must not be empty`,
      );
    }
  });
});
