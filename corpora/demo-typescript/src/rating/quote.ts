import { needsCustoms } from "../address/countries";
import type { Address } from "../address/address";
import type { BusinessCalendar } from "../calendar/business";
import type { LocalDate } from "../calendar/date";
import { RatingError, ValidationError } from "../errors";
import { attempt, partition } from "../result";
import type { Parcel } from "../shipment/parcel";
import type { Charge, Condition, Discount, Service, Tariff } from "../tariff/tariff";
import { formatPercent, Money } from "../units/money";
import { Weight } from "../units/weight";

/** What the customer wants to send and how. */
export interface QuoteRequest {
  readonly from: Address;
  readonly to: Address;
  readonly parcels: readonly Parcel[];
  readonly shipOn: LocalDate;
  readonly signature?: boolean;
  readonly insuredValue?: Money;
}

export interface QuoteLine {
  readonly kind: "freight" | "discount" | "surcharge";
  readonly label: string;
  readonly amount: Money;
}

/** A binding offer for one service. */
export class Quote {
  constructor(
    readonly service: Service,
    readonly zone: string,
    readonly billableWeight: Weight,
    readonly lines: readonly QuoteLine[],
    readonly deliverBy: LocalDate,
    readonly total: Money,
  ) {}

  /** The sum of one kind of line. */
  subtotal(kind: QuoteLine["kind"]): Money {
    const matching = this.lines.filter((line) => line.kind === kind);
    return Money.sum(
      matching.map((line) => line.amount),
      this.total.currency,
    );
  }

  /** Cheaper first; of two equal prices the faster service. */
  compareTo(other: Quote): number {
    return this.total.compareTo(other.total) || this.deliverBy.compareTo(other.deliverBy);
  }
}

/** Prices shipments by one tariff and dates them by one calendar. */
export class QuoteEngine {
  constructor(
    private readonly tariff: Tariff,
    private readonly calendar: BusinessCalendar,
  ) {}

  /** The offer for one service; throws a {@link RatingError} when there is none. */
  quote(request: QuoteRequest, serviceCode: string): Quote {
    if (request.parcels.length === 0) {
      throw new ValidationError("parcels", "must not be empty");
    }
    const service = this.tariff.services.get(serviceCode);
    if (service === undefined) {
      throw new RatingError(serviceCode, "unknown service");
    }
    const zone = this.tariff.zones.find(request.to.country, request.to.postcode);
    if (zone === undefined) {
      throw new RatingError(serviceCode, `no zone covers ${request.to.townLine}`);
    }
    const freight = this.freight(request, service, zone);
    const discounts = this.discounts(request, freight);
    const net = Money.sum([freight, ...discounts.map((line) => line.amount)], freight.currency);
    const lines: QuoteLine[] = [
      { kind: "freight", label: service.title, amount: freight },
      ...discounts,
      ...this.surcharges(request, net),
    ];
    const total = Money.sum(
      lines.map((line) => line.amount),
      freight.currency,
    );
    return new Quote(
      service,
      zone,
      Weight.sum(this.billable(request)),
      lines,
      this.calendar.addOpenDays(this.calendar.nextOpenDay(request.shipOn), service.transitDays),
      total,
    );
  }

  /** Offers for every service that can carry the request, best first. */
  quoteAll(request: QuoteRequest): Quote[] {
    const codes = [...this.tariff.services.keys()];
    const { values } = partition(codes.map((code) => attempt(() => this.quote(request, code))));
    return values.sort((a, b) => a.compareTo(b));
  }

  private billable(request: QuoteRequest): Weight[] {
    return request.parcels.map((parcel) => parcel.billableWeight(this.tariff.divisor));
  }

  private freight(request: QuoteRequest, service: Service, zone: string): Money {
    const table = service.tableFor(zone);
    let total = Money.zero(this.tariff.currency);
    for (const weight of this.billable(request)) {
      const price = table.priceFor(weight);
      if (price === undefined) {
        throw new RatingError(service.code, `${weight} is too heavy for zone ${zone}`);
      }
      total = total.plus(price);
    }
    return total;
  }

  /** Only the largest discount that applies is given. */
  private discounts(request: QuoteRequest, freight: Money): QuoteLine[] {
    let best: Discount | undefined;
    for (const discount of this.tariff.discounts) {
      const applies = request.parcels.length >= discount.minParcels;
      if (applies && discount.basisPoints > (best?.basisPoints ?? 0)) {
        best = discount;
      }
    }
    if (best === undefined) {
      return [];
    }
    const label = `${best.name} -${formatPercent(best.basisPoints)}`;
    return [{ kind: "discount", label, amount: freight.share(best.basisPoints).negated() }];
  }

  private surcharges(request: QuoteRequest, net: Money): QuoteLine[] {
    const lines: QuoteLine[] = [];
    for (const { name, charge, when } of this.tariff.surcharges) {
      if (!holds(when, request)) {
        continue;
      }
      const base = when === "insured" ? (request.insuredValue ?? net) : net;
      const amount = chargeOn(base, charge);
      if (!amount.isZero) {
        lines.push({ kind: "surcharge", label: name, amount });
      }
    }
    return lines;
  }
}

function holds(condition: Condition, request: QuoteRequest): boolean {
  switch (condition) {
    case "always":
      return true;
    case "remote":
      return request.from.isRemote || request.to.isRemote;
    case "bulky":
      return request.parcels.some((parcel) => parcel.isBulky);
    case "customs":
      return needsCustoms(request.from.country, request.to.country);
    case "signature":
      return request.signature === true;
    case "insured":
      return request.insuredValue !== undefined;
  }
}

function chargeOn(base: Money, charge: Charge): Money {
  return charge.kind === "fixed" ? charge.amount : base.share(charge.basisPoints);
}
