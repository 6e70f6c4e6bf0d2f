import { ValidationError } from "../errors";
import { requireInteger } from "../guards";
import { ceilTo, parseQuantity, trimNumber, type Comparable } from "./quantity";

const GRAMS_PER = { g: 1, kg: 1000, oz: 28.349523125, lb: 453.59237 } as const;

export type WeightUnit = keyof typeof GRAMS_PER;

/** A non-negative mass in whole grams. */
export class Weight implements Comparable<Weight> {
  static readonly ZERO = new Weight(0);

  private constructor(readonly grams: number) {}

  /** Converts from any unit, rounding to the nearest gram. */
  static of(amount: number, unit: WeightUnit): Weight {
    if (!Number.isFinite(amount) || amount < 0) {
      throw new ValidationError("weight", "must not be negative");
    }
    return new Weight(Math.round(amount * GRAMS_PER[unit]));
  }

  /** Reads `750 g`, `2.5kg`, `3 lb` or `12 oz`. */
  static parse(text: string): Weight {
    const { amount, unit } = parseQuantity(text, GRAMS_PER);
    return Weight.of(amount, unit);
  }

  static fromJSON(value: unknown): Weight {
    return Weight.of(requireInteger(value, "weight"), "g");
  }

  static sum(weights: Iterable<Weight>): Weight {
    let total = Weight.ZERO;
    for (const weight of weights) {
      total = total.plus(weight);
    }
    return total;
  }

  get isZero(): boolean {
    return this.grams === 0;
  }

  plus(other: Weight): Weight {
    return new Weight(this.grams + other.grams);
  }

  /** What remains above `other`; never less than zero. */
  excessOver(other: Weight): Weight {
    return new Weight(Math.max(0, this.grams - other.grams));
  }

  roundUpTo(step: Weight): Weight {
    return step.isZero ? this : new Weight(ceilTo(this.grams, step.grams));
  }

  to(unit: WeightUnit): number {
    return this.grams / GRAMS_PER[unit];
  }

  compareTo(other: Weight): number {
    return this.grams - other.grams;
  }

  equals(other: Weight): boolean {
    return this.compareTo(other) === 0;
  }

  /** Grams below one kilogram, kilograms from there on. */
  toString(): string {
    return this.grams < 1000 ? `${this.grams} g` : `${trimNumber(this.to("kg"), 3)} kg`;
  }

  toJSON(): number {
    return this.grams;
  }
}
