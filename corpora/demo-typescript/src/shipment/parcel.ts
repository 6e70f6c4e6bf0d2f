import { nested, optional, requireObject, requireText } from "../guards";
import { Dimensions } from "../units/dimensions";
import { Length } from "../units/length";
import { maxOf } from "../units/quantity";
import { Weight } from "../units/weight";
import { ValidationError } from "../errors";

const MAX_WEIGHT = Weight.of(70, "kg");
const BULKY_GIRTH = Length.of(300, "cm");
const BULKY_SIDE = Length.of(120, "cm");

/** One box of a shipment. */
export class Parcel {
  private constructor(
    readonly weight: Weight,
    readonly dimensions: Dimensions,
    readonly reference: string | undefined,
  ) {}

  static of(weight: Weight, dimensions: Dimensions, reference?: string): Parcel {
    if (weight.isZero) {
      throw new ValidationError("weight", "must not be zero");
    }
    if (weight.compareTo(MAX_WEIGHT) > 0) {
      throw new ValidationError("weight", `${weight} is above the limit of ${MAX_WEIGHT}`);
    }
    return new Parcel(weight, dimensions, reference);
  }

  /** Reads `2.5kg 40x30x20cm`, optionally followed by a reference. */
  static parse(text: string): Parcel {
    const [weight = "", dimensions = "", ...reference] = text.trim().split(/\s+/);
    return Parcel.of(
      Weight.parse(weight),
      Dimensions.parse(dimensions),
      reference.length === 0 ? undefined : reference.join(" "),
    );
  }

  static fromJSON(value: unknown, field = "parcel"): Parcel {
    const json = requireObject(value, field);
    return nested(field, () =>
      Parcel.of(
        Weight.fromJSON(json.weight),
        Dimensions.fromJSON(json.dimensions),
        optional(json.reference, (reference) => requireText(reference, "reference")),
      ),
    );
  }

  get isBulky(): boolean {
    return (
      this.dimensions.girth.compareTo(BULKY_GIRTH) > 0 ||
      this.dimensions.length.compareTo(BULKY_SIDE) > 0
    );
  }

  /** The larger of actual and volumetric weight. */
  billableWeight(divisor: number): Weight {
    return maxOf(this.weight, this.dimensions.volumetricWeight(divisor));
  }

  toString(): string {
    return `${this.weight}, ${this.dimensions}`;
  }

  toJSON(): Record<string, unknown> {
    const { weight, dimensions, reference } = this;
    return {
      weight: weight.toJSON(),
      dimensions: dimensions.toJSON(),
      ...(reference === undefined ? {} : { reference }),
    };
  }
}
