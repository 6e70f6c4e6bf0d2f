import { ParseError, ValidationError } from "../errors";
import { requireInteger, requireObject, requireOneOf } from "../guards";
import type { Comparable } from "./quantity";

const MINOR_DIGITS = { EUR: 2, GBP: 2, USD: 2, CHF: 2, JPY: 0 } as const;

export type Currency = keyof typeof MINOR_DIGITS;

export const CURRENCIES = Object.keys(MINOR_DIGITS) as Currency[];

const AMOUNT = /^(-)?(\d+)(?:\.(\d+))?$/;

/** An exact amount in minor units of one currency. */
export class Money implements Comparable<Money> {
  private constructor(
    readonly minor: number,
    readonly currency: Currency,
  ) {}

  static ofMinor(minor: number, currency: Currency): Money {
    return new Money(requireInteger(minor, "amount"), currency);
  }

  static zero(currency: Currency): Money {
    return new Money(0, currency);
  }

  /** Reads a plain decimal such as `12.90`; more decimals than the currency has are refused. */
  static parse(text: string, currency: Currency): Money {
    const match = AMOUNT.exec(text.trim());
    if (match === null) {
      throw new ParseError(`bad amount "${text}"`);
    }
    const digits = MINOR_DIGITS[currency];
    const fraction = match[3] ?? "";
    if (fraction.length > digits) {
      throw new ParseError(`${currency} has ${digits} decimals, got "${text}"`);
    }
    const magnitude = Number(`${match[2]}${fraction.padEnd(digits, "0")}`);
    return new Money(match[1] === undefined ? magnitude : -magnitude, currency);
  }

  static fromJSON(value: unknown): Money {
    const json = requireObject(value, "money");
    const currency = requireOneOf(json.currency, "currency", CURRENCIES);
    return Money.ofMinor(requireInteger(json.minor, "minor"), currency);
  }

  static sum(amounts: Iterable<Money>, currency: Currency): Money {
    let total = Money.zero(currency);
    for (const amount of amounts) {
      total = total.plus(amount);
    }
    return total;
  }

  get isZero(): boolean {
    return this.minor === 0;
  }

  get isNegative(): boolean {
    return this.minor < 0;
  }

  plus(other: Money): Money {
    this.requireSameCurrency(other);
    return new Money(this.minor + other.minor, this.currency);
  }

  minus(other: Money): Money {
    return this.plus(other.negated());
  }

  negated(): Money {
    return new Money(this.minor === 0 ? 0 : -this.minor, this.currency);
  }

  times(count: number): Money {
    return Money.ofMinor(this.minor * count, this.currency);
  }

  /** A share given in basis points (1 % = 100), rounded half away from zero. */
  share(basisPoints: number): Money {
    const exact = Math.abs(this.minor * basisPoints) / 10_000;
    const rounded = Math.floor(exact + 0.5);
    return new Money(this.minor * basisPoints < 0 ? -rounded : rounded, this.currency);
  }

  compareTo(other: Money): number {
    this.requireSameCurrency(other);
    return this.minor - other.minor;
  }

  equals(other: Money): boolean {
    return this.currency === other.currency && this.minor === other.minor;
  }

  toString(): string {
    return `${this.toDecimal()} ${this.currency}`;
  }

  /** The amount alone, with exactly as many decimals as the currency has. */
  toDecimal(): string {
    const digits = MINOR_DIGITS[this.currency];
    return (this.minor / 10 ** digits).toFixed(digits);
  }

  toJSON(): { minor: number; currency: Currency } {
    return { minor: this.minor, currency: this.currency };
  }

  private requireSameCurrency(other: Money): void {
    if (this.currency !== other.currency) {
      throw new ValidationError("currency", `cannot mix ${this.currency} and ${other.currency}`);
    }
  }
}

/** Reads `7.5%` into basis points. */
export function parsePercent(text: string): number {
  const match = /^(\d+)(?:\.(\d{1,2}))?%$/.exec(text.trim());
  if (match === null) {
    throw new ParseError(`bad percentage "${text}"`);
  }
  return Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0"));
}

export function formatPercent(basisPoints: number): string {
  return `${basisPoints / 100}%`;
}
