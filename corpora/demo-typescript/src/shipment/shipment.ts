import { Address } from "../address/address";
import { LocalDate } from "../calendar/date";
import { ValidationError } from "../errors";
import { requireArray, requireObject, requireText } from "../guards";
import { parseTrackingNumber } from "../tracking/number";
import { TrackingHistory, type Status, type TrackingEvent } from "../tracking/history";
import { Money } from "../units/money";
import { Weight } from "../units/weight";
import { Parcel } from "./parcel";

/** The facts of a shipment, without behaviour. */
export interface ShipmentData {
  readonly id: string;
  readonly from: Address;
  readonly to: Address;
  readonly parcels: readonly Parcel[];
  readonly service: string;
  readonly price: Money;
  readonly deliverBy: LocalDate;
  readonly history: TrackingHistory;
}

/** A booked shipment; changes produce new instances. */
export class Shipment {
  private constructor(private readonly data: ShipmentData) {}

  static of(data: ShipmentData): Shipment {
    if (data.parcels.length === 0) {
      throw new ValidationError("parcels", "must not be empty");
    }
    if (data.price.isNegative) {
      throw new ValidationError("price", "must not be negative");
    }
    return new Shipment({ ...data, id: parseTrackingNumber(data.id) });
  }

  static fromJSON(value: unknown): Shipment {
    const json = requireObject(value, "shipment");
    return Shipment.of({
      id: requireText(json.id, "id"),
      from: Address.fromJSON(json.from),
      to: Address.fromJSON(json.to),
      parcels: requireArray(json.parcels, "parcels", Parcel.fromJSON),
      service: requireText(json.service, "service"),
      price: Money.fromJSON(json.price),
      deliverBy: LocalDate.fromJSON(json.deliverBy),
      history: TrackingHistory.fromJSON(json.history),
    });
  }

  get id(): string {
    return this.data.id;
  }

  get from(): Address {
    return this.data.from;
  }

  get to(): Address {
    return this.data.to;
  }

  get parcels(): readonly Parcel[] {
    return this.data.parcels;
  }

  get service(): string {
    return this.data.service;
  }

  get price(): Money {
    return this.data.price;
  }

  get deliverBy(): LocalDate {
    return this.data.deliverBy;
  }

  get history(): TrackingHistory {
    return this.data.history;
  }

  get status(): Status {
    return this.history.status;
  }

  get weight(): Weight {
    return Weight.sum(this.parcels.map((parcel) => parcel.weight));
  }

  record(event: TrackingEvent): Shipment {
    return new Shipment({ ...this.data, history: this.history.append(event) });
  }

  /** Delivered after the promised day, or still open on a later day. */
  isLate(today: LocalDate): boolean {
    const delivered = this.history.reachedAt("delivered");
    if (delivered !== undefined) {
      return delivered.compareTo(this.deliverBy) > 0;
    }
    return this.history.isOpen && today.compareTo(this.deliverBy) > 0;
  }

  toJSON(): Record<string, unknown> {
    return {
      id: this.id,
      from: this.from.toJSON(),
      to: this.to.toJSON(),
      parcels: this.parcels.map((parcel) => parcel.toJSON()),
      service: this.service,
      price: this.price.toJSON(),
      deliverBy: this.deliverBy.toJSON(),
      history: this.history.toJSON(),
    };
  }
}
