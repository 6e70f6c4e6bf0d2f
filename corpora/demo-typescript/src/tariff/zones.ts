import { parseCountry, type CountryCode } from "../address/countries";
import { compactPostcode } from "../address/postcode";
import { ParseError } from "../errors";

/** One entry of a zone: everything, a country, or the postcodes of a country below a prefix. */
interface ZonePattern {
  readonly zone: string;
  readonly country: CountryCode | "*";
  readonly prefix: string;
}

/** Assigns destinations to zones; the most specific pattern wins. */
export class ZoneMap {
  private readonly patterns: ZonePattern[] = [];

  /** Adds `DE`, `FR-20` or `*` to a zone. */
  add(zone: string, pattern: string): this {
    const [head = "", prefix = "", ...rest] = pattern.trim().split("-");
    if (rest.length > 0 || (head === "*" && prefix !== "")) {
      throw new ParseError(`bad zone pattern "${pattern}"`);
    }
    const country = head === "*" ? head : parseCountry(head);
    if (this.patterns.some((known) => known.country === country && known.prefix === prefix)) {
      throw new ParseError(`pattern "${pattern.trim()}" is already in a zone`);
    }
    this.patterns.push({ zone, country, prefix });
    return this;
  }

  has(zone: string): boolean {
    return this.patterns.some((pattern) => pattern.zone === zone);
  }

  /** The zone of a destination, or undefined when nothing covers it. */
  find(country: CountryCode, postcode: string): string | undefined {
    const compact = compactPostcode(postcode);
    let best: ZonePattern | undefined;
    for (const pattern of this.patterns) {
      const applies =
        pattern.country === "*" ||
        (pattern.country === country && compact.startsWith(pattern.prefix));
      if (applies && (best === undefined || specificity(pattern) > specificity(best))) {
        best = pattern;
      }
    }
    return best?.zone;
  }
}

function specificity(pattern: ZonePattern): number {
  return pattern.country === "*" ? 0 : 1 + pattern.prefix.length;
}
