import { ValidationError } from "../errors";
import type { CountryCode } from "./countries";

interface PostcodeRule {
  /** Matches the compact form: upper case, nothing but letters and digits. */
  readonly pattern: RegExp;
  readonly example: string;
  /** Turns the compact form into the customary one. */
  readonly format: (compact: string) => string;
  /** Compact prefixes of places that cost extra to reach. */
  readonly remote: readonly string[];
}

const asIs = (compact: string): string => compact;

/** Inserts `separator` so that `count` characters stay behind it. */
function splitBeforeLast(count: number, separator: string): (compact: string) => string {
  return (compact) => `${compact.slice(0, -count)}${separator}${compact.slice(-count)}`;
}

function formatZip(compact: string): string {
  return compact.length === 9 ? `${compact.slice(0, 5)}-${compact.slice(5)}` : compact;
}

const RULES: Readonly<Record<CountryCode, PostcodeRule>> = {
  AT: { pattern: /^[1-9]\d{3}$/, example: "1010", format: asIs, remote: [] },
  CA: {
    pattern: /^[ABCEGHJ-NPRSTVXY]\d[A-Z]\d[A-Z]\d$/,
    example: "K1A 0B1",
    format: splitBeforeLast(3, " "),
    remote: ["X", "Y"],
  },
  CH: { pattern: /^[1-9]\d{3}$/, example: "8001", format: asIs, remote: [] },
  DE: { pattern: /^\d{5}$/, example: "10115", format: asIs, remote: ["18565", "25849", "27498"] },
  FR: { pattern: /^\d{5}$/, example: "75001", format: asIs, remote: ["20", "97", "98"] },
  GB: {
    pattern: /^[A-Z]{1,2}\d[A-Z\d]?\d[A-Z]{2}$/,
    example: "SW1A 1AA",
    format: splitBeforeLast(3, " "),
    remote: ["BT", "HS", "IM", "KW", "ZE"],
  },
  IE: {
    pattern: /^[A-Z]\d[\dW][A-Z\d]{4}$/,
    example: "D02 AF30",
    format: splitBeforeLast(4, " "),
    remote: [],
  },
  NL: {
    pattern: /^[1-9]\d{3}[A-Z]{2}$/,
    example: "1012 AB",
    format: splitBeforeLast(2, " "),
    remote: [],
  },
  SE: { pattern: /^\d{5}$/, example: "114 55", format: splitBeforeLast(2, " "), remote: ["98"] },
  US: { pattern: /^\d{5}(?:\d{4})?$/, example: "10001", format: formatZip, remote: ["967", "995"] },
};

/** Upper case without spaces, hyphens or a leading country prefix such as `D-`. */
export function compactPostcode(text: string): string {
  return text
    .trim()
    .toUpperCase()
    .replace(/^[A-Z]{1,2}-(?=\d)/, "")
    .replace(/[\s-]/g, "");
}

export function isPostcode(text: string, country: CountryCode): boolean {
  return RULES[country].pattern.test(compactPostcode(text));
}

/** Brings a postcode into the form customary in its country. */
export function normalisePostcode(text: string, country: CountryCode): string {
  const rule = RULES[country];
  const compact = compactPostcode(text);
  if (!rule.pattern.test(compact)) {
    throw new ValidationError("postcode", `"${text}" is not like ${rule.example} (${country})`);
  }
  return rule.format(compact);
}

export function isRemote(postcode: string, country: CountryCode): boolean {
  const compact = compactPostcode(postcode);
  return RULES[country].remote.some((prefix) => compact.startsWith(prefix));
}
