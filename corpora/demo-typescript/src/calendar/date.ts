import { ParseError } from "../errors";
import { requireRange, requireString } from "../guards";
import type { Comparable } from "../units/quantity";

export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

export type Weekday = (typeof WEEKDAYS)[number];

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

export function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

export function daysInMonth(year: number, month: number): number {
  return month === 2 && isLeapYear(year) ? 29 : (MONTH_LENGTHS[month - 1] ?? 0);
}

/** A calendar day without a time zone. */
export class LocalDate implements Comparable<LocalDate> {
  private constructor(
    readonly year: number,
    readonly month: number,
    readonly day: number,
  ) {}

  static of(year: number, month: number, day: number): LocalDate {
    requireRange(year, "year", 1900, 2199);
    requireRange(month, "month", 1, 12);
    requireRange(day, "day", 1, daysInMonth(year, month));
    return new LocalDate(year, month, day);
  }

  /** Reads `2024-03-01`. */
  static parse(text: string): LocalDate {
    const match = ISO_DATE.exec(text.trim());
    if (match === null) {
      throw new ParseError(`bad date "${text}"`);
    }
    return LocalDate.of(Number(match[1]), Number(match[2]), Number(match[3]));
  }

  static fromJSON(value: unknown): LocalDate {
    return LocalDate.parse(requireString(value, "date"));
  }

  /** Inverse of {@link epochDay}, by the era arithmetic of the proleptic Gregorian calendar. */
  static ofEpochDay(epochDay: number): LocalDate {
    const shifted = epochDay + 719_468;
    const era = Math.floor(shifted / 146_097);
    const dayOfEra = shifted - era * 146_097;
    const yearOfEra = Math.floor(
      (dayOfEra -
        Math.floor(dayOfEra / 1460) +
        Math.floor(dayOfEra / 36_524) -
        Math.floor(dayOfEra / 146_096)) /
        365,
    );
    const dayOfYear =
      dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
    const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
    const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
    const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
    const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
    return new LocalDate(year, month, day);
  }

  /** Days since 1970-01-01. */
  get epochDay(): number {
    const year = this.month <= 2 ? this.year - 1 : this.year;
    const era = Math.floor(year / 400);
    const yearOfEra = year - era * 400;
    const shiftedMonth = this.month > 2 ? this.month - 3 : this.month + 9;
    const dayOfYear = Math.floor((153 * shiftedMonth + 2) / 5) + this.day - 1;
    const dayOfEra =
      yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
    return era * 146_097 + dayOfEra - 719_468;
  }

  get weekday(): Weekday {
    const index = (((this.epochDay + 3) % 7) + 7) % 7;
    return WEEKDAYS[index] ?? "mon";
  }

  plusDays(days: number): LocalDate {
    return LocalDate.ofEpochDay(this.epochDay + days);
  }

  compareTo(other: LocalDate): number {
    return this.epochDay - other.epochDay;
  }

  equals(other: LocalDate): boolean {
    return this.compareTo(other) === 0;
  }

  toString(): string {
    const month = String(this.month).padStart(2, "0");
    const day = String(this.day).padStart(2, "0");
    return `${this.year}-${month}-${day}`;
  }

  toJSON(): string {
    return this.toString();
  }
}
