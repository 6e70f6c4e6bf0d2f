import { ValidationError } from "../errors";
import { requireInteger } from "../guards";
import { parseQuantity, trimNumber, type Comparable } from "./quantity";

const MILLIMETRES_PER = { mm: 1, cm: 10, m: 1000, in: 25.4 } as const;

export type LengthUnit = keyof typeof MILLIMETRES_PER;

/** A positive distance in whole millimetres. */
export class Length implements Comparable<Length> {
  private constructor(readonly millimetres: number) {}

  /** Converts from any unit, rounding up so that a parcel is never declared too small. */
  static of(amount: number, unit: LengthUnit): Length {
    if (!Number.isFinite(amount) || amount <= 0) {
      throw new ValidationError("length", "must be positive");
    }
    return new Length(Math.ceil(amount * MILLIMETRES_PER[unit]));
  }

  /** Reads `400 mm`, `40cm`, `1.2 m` or `16 in`. */
  static parse(text: string): Length {
    const { amount, unit } = parseQuantity(text, MILLIMETRES_PER);
    return Length.of(amount, unit);
  }

  static fromJSON(value: unknown): Length {
    return Length.of(requireInteger(value, "length"), "mm");
  }

  plus(other: Length): Length {
    return new Length(this.millimetres + other.millimetres);
  }

  times(factor: number): Length {
    return Length.of(this.millimetres * factor, "mm");
  }

  to(unit: LengthUnit): number {
    return this.millimetres / MILLIMETRES_PER[unit];
  }

  compareTo(other: Length): number {
    return this.millimetres - other.millimetres;
  }

  equals(other: Length): boolean {
    return this.compareTo(other) === 0;
  }

  /** Centimetres, with a decimal only where needed. */
  toString(): string {
    return `${trimNumber(this.to("cm"), 1)} cm`;
  }

  toJSON(): number {
    return this.millimetres;
  }
}
