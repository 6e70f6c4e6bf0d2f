import { RatingError, ValidationError } from "../errors";
import type { Currency, Money } from "../units/money";
import type { Weight } from "../units/weight";
import type { ZoneMap } from "./zones";

/** A price that holds up to a weight, that weight included. */
export interface Bracket {
  readonly upTo: Weight;
  readonly price: Money;
}

/** What each further started step costs above the last bracket. */
export interface Overflow {
  readonly step: Weight;
  readonly price: Money;
}

/** The prices of one service in one zone. */
export class RateTable {
  constructor(
    readonly brackets: readonly Bracket[],
    readonly overflow?: Overflow,
  ) {
    if (brackets.length === 0) {
      throw new ValidationError("brackets", "must not be empty");
    }
    if (overflow?.step.isZero) {
      throw new ValidationError("overflow", "must have a step");
    }
    for (const [index, bracket] of brackets.entries()) {
      const previous = brackets[index - 1];
      if (previous !== undefined && bracket.upTo.compareTo(previous.upTo) <= 0) {
        throw new ValidationError("brackets", `${bracket.upTo} does not follow ${previous.upTo}`);
      }
    }
  }

  /** The price for a billable weight, or undefined when it is too heavy for this table. */
  priceFor(weight: Weight): Money | undefined {
    const bracket = this.brackets.find((candidate) => weight.compareTo(candidate.upTo) <= 0);
    if (bracket !== undefined) {
      return bracket.price;
    }
    const last = this.brackets.at(-1);
    if (last === undefined || this.overflow === undefined) {
      return undefined;
    }
    const { step, price } = this.overflow;
    const steps = weight.excessOver(last.upTo).roundUpTo(step).grams / step.grams;
    return last.price.plus(price.times(steps));
  }
}

/** A product on sale, such as "express", with a table per zone. */
export class Service {
  private readonly tables = new Map<string, RateTable>();

  constructor(
    readonly code: string,
    readonly title: string,
    readonly transitDays: number,
  ) {}

  addTable(zone: string, table: RateTable): this {
    if (this.tables.has(zone)) {
      throw new ValidationError("zone", `${zone} is already priced for ${this.code}`);
    }
    this.tables.set(zone, table);
    return this;
  }

  tableFor(zone: string): RateTable {
    const table = this.tables.get(zone);
    if (table === undefined) {
      throw new RatingError(this.code, `not offered in zone ${zone}`);
    }
    return table;
  }
}

export const CONDITIONS = ["always", "remote", "bulky", "customs", "signature", "insured"] as const;

/** When a surcharge is due. */
export type Condition = (typeof CONDITIONS)[number];

/** Either a fixed amount per shipment or a share of the freight, in basis points. */
export type Charge =
  | { readonly kind: "fixed"; readonly amount: Money }
  | { readonly kind: "percent"; readonly basisPoints: number };

export interface Surcharge {
  readonly name: string;
  readonly charge: Charge;
  readonly when: Condition;
}

/** A rebate on the freight from a number of parcels on. */
export interface Discount {
  readonly name: string;
  readonly basisPoints: number;
  readonly minParcels: number;
}

/** A complete price list. */
export interface Tariff {
  readonly name: string;
  readonly currency: Currency;
  /** Cubic centimetres that count as one kilogram. */
  readonly divisor: number;
  readonly zones: ZoneMap;
  readonly services: ReadonlyMap<string, Service>;
  readonly surcharges: readonly Surcharge[];
  readonly discounts: readonly Discount[];
}
