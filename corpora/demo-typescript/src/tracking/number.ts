import { ParseError, ValidationError } from "../errors";
import type { CountryCode } from "../address/countries";
import { requireRange } from "../guards";

const WEIGHTS = [8, 6, 4, 2, 3, 5, 9, 7];
const SHAPE = /^([A-Z]{2})(\d{8})(\d)([A-Z]{2})$/;

/** The check digit of the eight-digit serial of an S10 item number. */
export function checkDigit(serial: string): number {
  let sum = 0;
  for (const [index, weight] of WEIGHTS.entries()) {
    sum += weight * Number(serial[index] ?? "0");
  }
  const remainder = 11 - (sum % 11);
  if (remainder === 10) {
    return 0;
  }
  return remainder === 11 ? 5 : remainder;
}

export function formatTrackingNumber(prefix: string, serial: number, country: CountryCode): string {
  if (!/^[A-Z]{2}$/.test(prefix)) {
    throw new ValidationError("prefix", "must be two capital letters");
  }
  const digits = String(requireRange(serial, "serial", 0, 99_999_999)).padStart(8, "0");
  return `${prefix}${digits}${checkDigit(digits)}${country}`;
}

/** Accepts any spacing and case, verifies the check digit and returns the compact form. */
export function parseTrackingNumber(text: string): string {
  const compact = text.replace(/\s/g, "").toUpperCase();
  const match = SHAPE.exec(compact);
  if (match === null) {
    throw new ParseError(`bad tracking number "${text}"`);
  }
  const expected = checkDigit(match[2] ?? "");
  if (Number(match[3]) !== expected) {
    throw new ParseError(`check digit of ${compact} should be ${expected}`, 1, 11);
  }
  return compact;
}
