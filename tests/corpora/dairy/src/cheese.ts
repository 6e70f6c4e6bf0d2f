/** A wheel of cheese. */
export interface Wheel {
  readonly name: string;
  readonly weeks: number;
}

/** List the wheels that are ripe, the oldest first. */
export function ripe(wheels: readonly Wheel[], weeks: number): string[] {
  const old = wheels.filter((wheel) => wheel.weeks >= weeks);
  old.sort((a, b) => b.weeks - a.weeks);
  return old.map((wheel) => wheel.name);
}

/** Give the price of a wheel in cents. */
export function price(kilograms: number, weeks: number): number {
  return Math.round(kilograms * (900 + 10 * weeks));
}
