import { LocalDate } from "../calendar/date";
import { TransitionError, ValidationError } from "../errors";
import { requireArray, requireObject, requireOneOf, requireText, nested } from "../guards";

export const STATUSES = [
  "created",
  "collected",
  "in-transit",
  "out-for-delivery",
  "delivered",
  "exception",
  "returned",
  "cancelled",
] as const;

export type Status = (typeof STATUSES)[number];

const NEXT: Readonly<Record<Status, readonly Status[]>> = {
  created: ["collected", "cancelled"],
  collected: ["in-transit", "exception"],
  "in-transit": ["in-transit", "out-for-delivery", "exception"],
  "out-for-delivery": ["delivered", "exception"],
  exception: ["in-transit", "out-for-delivery", "returned"],
  delivered: [],
  returned: [],
  cancelled: [],
};

export function canFollow(from: Status, to: Status): boolean {
  return NEXT[from].includes(to);
}

export function isFinal(status: Status): boolean {
  return NEXT[status].length === 0;
}

/** Something that happened to a shipment. */
export interface TrackingEvent {
  readonly status: Status;
  readonly at: LocalDate;
  readonly place: string;
}

function eventFromJSON(value: unknown, field: string): TrackingEvent {
  const json = requireObject(value, field);
  return nested(field, () => ({
    status: requireOneOf(json.status, "status", STATUSES),
    at: LocalDate.fromJSON(json.at),
    place: requireText(json.place, "place"),
  }));
}

/** The events of one shipment in order; never empty, never inconsistent. */
export class TrackingHistory {
  private constructor(private readonly items: readonly [TrackingEvent, ...TrackingEvent[]]) {}

  static start(at: LocalDate, place: string): TrackingHistory {
    return new TrackingHistory([{ status: "created", at, place }]);
  }

  static fromJSON(value: unknown): TrackingHistory {
    const [first, ...rest] = requireArray(value, "events", eventFromJSON);
    if (first === undefined || first.status !== "created") {
      throw new ValidationError("events", "must begin with created");
    }
    let history = TrackingHistory.start(first.at, first.place);
    for (const event of rest) {
      history = history.append(event);
    }
    return history;
  }

  get events(): readonly TrackingEvent[] {
    return this.items;
  }

  get latest(): TrackingEvent {
    return this.items.at(-1) ?? this.items[0];
  }

  get status(): Status {
    return this.latest.status;
  }

  get isOpen(): boolean {
    return !isFinal(this.status);
  }

  /** A new history with one more event, which must be allowed and not earlier than the last. */
  append(event: TrackingEvent): TrackingHistory {
    if (!canFollow(this.status, event.status)) {
      throw new TransitionError(this.status, event.status);
    }
    if (event.at.compareTo(this.latest.at) < 0) {
      throw new ValidationError("at", `${event.at} is before ${this.latest.at}`);
    }
    return new TrackingHistory([...this.items, event]);
  }

  /** The day on which the shipment first reached a status. */
  reachedAt(status: Status): LocalDate | undefined {
    return this.items.find((event) => event.status === status)?.at;
  }

  toJSON(): Record<string, string>[] {
    return this.items.map(({ status, at, place }) => ({ status, at: at.toJSON(), place }));
  }
}
