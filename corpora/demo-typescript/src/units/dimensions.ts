import { ParseError, ValidationError } from "../errors";
import { requireArray } from "../guards";
import { Length } from "./length";
import { trimNumber } from "./quantity";
import { Weight } from "./weight";

const SEPARATOR = /\s*[x×*]\s*/i;
const TRAILING_UNIT = /\s*(mm|cm|m|in)$/i;

/** The outer size of a box; sides are kept longest first, so equal boxes compare equal. */
export class Dimensions {
  private constructor(
    readonly length: Length,
    readonly width: Length,
    readonly height: Length,
  ) {}

  static of(first: Length, second: Length, third: Length): Dimensions {
    const [length, width, height] = [first, second, third].sort((a, b) => b.compareTo(a));
    return new Dimensions(length ?? first, width ?? second, height ?? third);
  }

  /** Reads `40x30x20 cm`; a side may carry its own unit, the last unit serves the others. */
  static parse(text: string): Dimensions {
    const sides = text.trim().split(SEPARATOR);
    if (sides.length !== 3) {
      throw new ParseError(`expected three sides in "${text}"`);
    }
    const unit = TRAILING_UNIT.exec(text.trim())?.[1];
    if (unit === undefined) {
      throw new ParseError(`missing unit in "${text}"`, 1, text.length + 1);
    }
    const lengths = sides.map((side) =>
      Length.parse(TRAILING_UNIT.test(side) ? side : `${side} ${unit}`),
    );
    return Dimensions.fromLengths(lengths);
  }

  static fromJSON(value: unknown): Dimensions {
    return Dimensions.fromLengths(requireArray(value, "dimensions", Length.fromJSON));
  }

  private static fromLengths(lengths: readonly Length[]): Dimensions {
    const [first, second, third] = lengths;
    if (lengths.length !== 3 || !first || !second || !third) {
      throw new ValidationError("dimensions", "must have three sides");
    }
    return Dimensions.of(first, second, third);
  }

  get sides(): readonly [Length, Length, Length] {
    return [this.length, this.width, this.height];
  }

  /** Volume in cubic centimetres. */
  get volume(): number {
    return this.sides.reduce((product, side) => product * side.to("cm"), 1);
  }

  /** Longest side plus the circumference around it, the usual size limit of carriers. */
  get girth(): Length {
    return this.length.plus(this.width.plus(this.height).times(2));
  }

  /** The weight this box is billed at for its volume alone; `divisor` is in cm³ per kg. */
  volumetricWeight(divisor: number): Weight {
    if (divisor <= 0) {
      throw new ValidationError("divisor", "must be positive");
    }
    return Weight.of(this.volume / divisor, "kg");
  }

  /** Whether this box goes into `other` without tilting it. */
  fitsInto(other: Dimensions): boolean {
    return (
      this.length.compareTo(other.length) <= 0 &&
      this.width.compareTo(other.width) <= 0 &&
      this.height.compareTo(other.height) <= 0
    );
  }

  equals(other: Dimensions): boolean {
    return this.fitsInto(other) && other.fitsInto(this);
  }

  toString(): string {
    const sides = this.sides.map((side) => trimNumber(side.to("cm"), 1));
    return `${sides.join(" x ")} cm`;
  }

  toJSON(): number[] {
    return this.sides.map((side) => side.toJSON());
  }
}
