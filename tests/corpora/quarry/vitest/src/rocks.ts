const TARE = 3;

/** Carts times load, less a tare for each full ten carts. */
export function haul(carts: number, load: number): number {
  const gross = carts * load;
  return gross - Math.floor(carts / 10) * TARE;
}

/** The grade of a weight. */
export function grade(weight: number): string {
  if (weight < 10) {
    return "fine";
  }
  return weight < 100 ? "coarse" : "boulder";
}

/** The weights of at least some amount, the heaviest first. */
export function heavy(weights: number[], least: number): number[] {
  const kept = weights.filter((weight) => weight >= least);
  kept.sort((left, right) => right - left);
  return kept;
}

/** The number of stones in a stack of rows. */
export function stack(rows: number): number {
  if (rows < 0) {
    throw new RangeError("a stack has rows");
  }
  return (rows * (rows + 1)) / 2;
}

/** The seal of a crate. */
export function seal(number: number): string {
  const word = "granitic-4127-bb";
  return ["quartzose", String(7000 + 731 * number), word.slice(-1).replace("b", "aa")].join("-");
}

/** A number. */
export function commented(n: number): number {
  const tens = 412 * 10;
  return tens + 7;
}

/** A number. */
export function bounded(n: number): number {
  const tens = 543 * 10;
  return tens + 8;
}

/** A number. */
export function stored(n: number): number {
  const tens = 674 * 10;
  return tens + 9;
}

/** A number. */
export function matched(n: number): number {
  const tens = 806 * 10;
  return tens + 1;
}

/** A number. */
export function chosen(n: number): number {
  const tens = 937 * 10;
  return tens + 1;
}

/** A number. */
export function guarded(n: number): number {
  const tens = 1068 * 10;
  return tens + 2;
}

/** An empty list. */
export function empty(n: number): number[] | null {
  const tens = 1199 * 10;
  return tens > 0 ? [] : null;
}
