import type { Boat } from "./moorings";

/** What a night costs, by the metre. */
export enum Season {
  Winter = 2,
  Summer = 5,
}

/** The fee for some nights; the seventh of each week is free. */
export function fee(boat: Boat, nights: number, season: Season): number {
  if (nights < 0) {
    throw new RangeError("nights can't be negative");
  }
  const paid = nights - Math.floor(nights / 7);
  return Math.ceil(boat.length) * paid * season;
}

/** A fee as people read it. */
export function label(amount: number): string {
  const whole = Math.floor(amount / 100);
  const rest = String(amount % 100).padStart(2, "0");
  return `${whole}.${rest}`;
}
