import { ParseError } from "../errors";

const QUANTITY = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/;

/** Splits text such as `2.5 kg` into its number and one of the allowed units. */
export function parseQuantity<U extends string>(
  text: string,
  units: Readonly<Record<U, number>>,
): { amount: number; unit: U } {
  const match = QUANTITY.exec(text.trim().toLowerCase());
  if (match === null) {
    throw new ParseError(`bad quantity "${text}"`);
  }
  const unit = match[2] ?? "";
  if (!isUnit(unit, units)) {
    throw new ParseError(`unknown unit "${unit}"`, 1, text.toLowerCase().lastIndexOf(unit) + 1);
  }
  return { amount: Number(match[1]), unit };
}

function isUnit<U extends string>(unit: string, units: Readonly<Record<U, number>>): unit is U {
  return Object.hasOwn(units, unit);
}

/** Prints with at most `digits` decimals and no trailing zeros. */
export function trimNumber(value: number, digits: number): string {
  const fixed = value.toFixed(digits);
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

/** Rounds up to a multiple of `step`, the way carriers bill started units. */
export function ceilTo(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

/** Anything with a total order over its own kind. */
export interface Comparable<T> {
  compareTo(other: T): number;
}

export function maxOf<T extends Comparable<T>>(first: T, ...rest: T[]): T {
  return rest.reduce((best, next) => (next.compareTo(best) > 0 ? next : best), first);
}
