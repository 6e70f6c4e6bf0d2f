import { ParseError } from "../errors";
import { nested, optional, requireObject, requireText } from "../guards";
import { collapse, titleCase } from "../text/normalise";
import { countryName, findCountry, parseCountry, type CountryCode } from "./countries";
import { compactPostcode, isPostcode, isRemote, normalisePostcode } from "./postcode";

/** What a caller supplies; everything is normalised on the way in. */
export interface AddressInput {
  readonly name: string;
  readonly company?: string | undefined;
  readonly street: string;
  readonly city: string;
  readonly postcode: string;
  readonly country: CountryCode;
}

const STREET_SUFFIXES: ReadonlyMap<string, string> = new Map([
  ["st", "Street"],
  ["rd", "Road"],
  ["ave", "Avenue"],
  ["blvd", "Boulevard"],
  ["str", "Straße"],
]);

/** Countries that put the postcode behind the town. */
const POSTCODE_LAST: ReadonlySet<CountryCode> = new Set<CountryCode>(["CA", "GB", "IE", "US"]);

/** Tidies spacing and case and spells out a final street abbreviation. */
export function normaliseStreet(text: string): string {
  const words = titleCase(collapse(text)).split(" ");
  return words
    .map((word, index) => {
      const key = word.toLowerCase().replace(/[.,]$/, "");
      return index === 0 ? word : (STREET_SUFFIXES.get(key) ?? word);
    })
    .join(" ");
}

/** A validated postal address. */
export class Address {
  private constructor(
    readonly name: string,
    readonly company: string | undefined,
    readonly street: string,
    readonly city: string,
    readonly postcode: string,
    readonly country: CountryCode,
  ) {}

  static of(input: AddressInput): Address {
    const company = collapse(input.company ?? "");
    return new Address(
      collapse(requireText(input.name, "name")),
      company === "" ? undefined : company,
      normaliseStreet(requireText(input.street, "street")),
      titleCase(collapse(requireText(input.city, "city"))),
      normalisePostcode(requireText(input.postcode, "postcode"), input.country),
      input.country,
    );
  }

  /**
   * Reads an address block: name, optional company, street, town line, country.
   * Lines may be separated by line breaks or semicolons; a missing country means `fallback`.
   */
  static parse(text: string, fallback?: CountryCode): Address {
    const lines = text.split(/[\n;]/).map(collapse).filter((line) => line !== "");
    const last = findCountry(lines.at(-1) ?? "");
    const country = last ?? fallback;
    if (country === undefined) {
      throw new ParseError("missing country", Math.max(1, lines.length));
    }
    const body = last === undefined ? lines : lines.slice(0, -1);
    const [name = "", ...middle] = body;
    if (middle.length < 2 || middle.length > 3) {
      throw new ParseError("expected name, street and town", Math.max(1, body.length));
    }
    const town = parseTownLine(middle.at(-1) ?? "", country, body.length);
    const street = middle.at(-2) ?? "";
    const company = middle.length === 3 ? middle[0] : undefined;
    return Address.of({ name, company, street, ...town, country });
  }

  static fromJSON(value: unknown): Address {
    const json = requireObject(value, "address");
    return nested("address", () =>
      Address.of({
        name: requireText(json.name, "name"),
        company: optional(json.company, (company) => requireText(company, "company")),
        street: requireText(json.street, "street"),
        city: requireText(json.city, "city"),
        postcode: requireText(json.postcode, "postcode"),
        country: parseCountry(requireText(json.country, "country")),
      }),
    );
  }

  get isRemote(): boolean {
    return isRemote(this.postcode, this.country);
  }

  get townLine(): string {
    return POSTCODE_LAST.has(this.country)
      ? `${this.city} ${this.postcode}`
      : `${this.postcode} ${this.city}`;
  }

  /** The lines of a label; the country is left out for domestic mail. */
  toLines(origin?: CountryCode): string[] {
    const lines = [this.name];
    if (this.company !== undefined) {
      lines.push(this.company);
    }
    lines.push(this.street, this.townLine);
    if (origin !== this.country) {
      lines.push(countryName(this.country).toUpperCase());
    }
    return lines;
  }

  /** Same place, whoever lives there. */
  samePlace(other: Address): boolean {
    return (
      this.country === other.country &&
      compactPostcode(this.postcode) === compactPostcode(other.postcode) &&
      this.street.toLowerCase() === other.street.toLowerCase()
    );
  }

  equals(other: Address): boolean {
    return this.samePlace(other) && this.name === other.name && this.company === other.company;
  }

  toString(): string {
    return this.toLines().join("; ");
  }

  toJSON(): AddressInput {
    const { name, company, street, city, postcode, country } = this;
    return { name, ...(company === undefined ? {} : { company }), street, city, postcode, country };
  }
}

/** Finds the postcode at either end of the town line, up to two words long. */
function parseTownLine(
  line: string,
  country: CountryCode,
  lineNumber: number,
): { city: string; postcode: string } {
  const words = line.replaceAll(",", " ").split(/\s+/);
  for (const count of [2, 1]) {
    const candidates = [
      { postcode: words.slice(0, count), city: words.slice(count) },
      { postcode: words.slice(-count), city: words.slice(0, -count) },
    ];
    for (const { postcode, city } of candidates) {
      if (city.length > 0 && isPostcode(postcode.join(" "), country)) {
        return { city: city.join(" "), postcode: postcode.join(" ") };
      }
    }
  }
  throw new ParseError(`no postcode in "${line}"`, lineNumber);
}
