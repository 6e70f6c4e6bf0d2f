import type { LocalDate } from "./calendar/date";
import { EventBus } from "./bus";
import type { QuoteEngine, QuoteRequest } from "./rating/quote";
import { Shipment } from "./shipment/shipment";
import type { Repository } from "./storage/repository";
import { TrackingHistory, type Status, type TrackingEvent } from "./tracking/history";
import { formatTrackingNumber, parseTrackingNumber } from "./tracking/number";

/** What the desk announces. */
export type DeskEvents = {
  booked: Shipment;
  moved: { readonly shipment: Shipment; readonly previous: Status };
  cancelled: { readonly id: string };
};

/** The front door of the library: books, tracks and finds shipments. */
export class ShippingDesk {
  readonly events = new EventBus<DeskEvents>();

  constructor(
    private readonly engine: QuoteEngine,
    private readonly shipments: Repository<Shipment>,
    private nextSerial = 1,
  ) {}

  /** Prices the request, assigns the next tracking number and stores the shipment. */
  async book(request: QuoteRequest, service: string, at: LocalDate): Promise<Shipment> {
    const quote = this.engine.quote(request, service);
    const shipment = Shipment.of({
      id: formatTrackingNumber("WB", this.nextSerial, request.from.country),
      from: request.from,
      to: request.to,
      parcels: request.parcels,
      service,
      price: quote.total,
      deliverBy: quote.deliverBy,
      history: TrackingHistory.start(at, request.from.city),
    });
    await this.shipments.save(shipment, 0);
    this.nextSerial += 1;
    this.events.emit("booked", shipment);
    return shipment;
  }

  async track(number: string): Promise<Shipment> {
    const { entity } = await this.shipments.get(parseTrackingNumber(number));
    return entity;
  }

  /** Appends an event and stores the result. */
  async record(number: string, event: TrackingEvent): Promise<Shipment> {
    const { entity, version } = await this.shipments.get(parseTrackingNumber(number));
    const moved = entity.record(event);
    await this.shipments.save(moved, version);
    this.events.emit("moved", { shipment: moved, previous: entity.status });
    if (event.status === "cancelled") {
      this.events.emit("cancelled", { id: moved.id });
    }
    return moved;
  }

  async cancel(number: string, at: LocalDate): Promise<Shipment> {
    return this.record(number, { status: "cancelled", at, place: "desk" });
  }

  /** Shipments that missed the promised day, by tracking number. */
  async late(today: LocalDate): Promise<Shipment[]> {
    return this.shipments.list((shipment) => shipment.isLate(today));
  }
}
