import { ValidationError } from "../errors";
import { collapse } from "../text/normalise";

/** ISO 3166 codes of the countries this release ships to. */
export const COUNTRY_CODES = ["AT", "CA", "CH", "DE", "FR", "GB", "IE", "NL", "SE", "US"] as const;

export type CountryCode = (typeof COUNTRY_CODES)[number];

const NAMES: Readonly<Record<CountryCode, string>> = {
  AT: "Austria",
  CA: "Canada",
  CH: "Switzerland",
  DE: "Germany",
  FR: "France",
  GB: "United Kingdom",
  IE: "Ireland",
  NL: "Netherlands",
  SE: "Sweden",
  US: "United States",
};

const ALIASES: Readonly<Record<string, CountryCode>> = {
  uk: "GB",
  "great britain": "GB",
  holland: "NL",
  usa: "US",
  "united states of america": "US",
};

const CUSTOMS_UNION: ReadonlySet<CountryCode> = new Set<CountryCode>(["AT", "DE", "FR", "IE", "NL", "SE"]);

export function countryName(code: CountryCode): string {
  return NAMES[code];
}

export function isCountryCode(text: string): text is CountryCode {
  return Object.hasOwn(NAMES, text);
}

/** Finds a country by code, English name or a common alias, ignoring case and dots. */
export function findCountry(text: string): CountryCode | undefined {
  const key = collapse(text.replaceAll(".", "")).toLowerCase();
  const code = key.toUpperCase();
  if (isCountryCode(code)) {
    return code;
  }
  return COUNTRY_CODES.find((candidate) => NAMES[candidate].toLowerCase() === key) ?? ALIASES[key];
}

export function parseCountry(text: string): CountryCode {
  const code = findCountry(text);
  if (code === undefined) {
    throw new ValidationError("country", `unknown country "${text}"`);
  }
  return code;
}

/** Whether a parcel between the two needs customs papers. */
export function needsCustoms(from: CountryCode, to: CountryCode): boolean {
  if (from === to) {
    return false;
  }
  return !(CUSTOMS_UNION.has(from) && CUSTOMS_UNION.has(to));
}
