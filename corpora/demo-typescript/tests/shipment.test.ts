import { describe, expect, it } from "vitest";
import { Parcel } from "../src/shipment/parcel";
import { Shipment } from "../src/shipment/shipment";
import { canFollow, isFinal, STATUSES, TrackingHistory, type Status } from "../src/tracking/history";
import { checkDigit, formatTrackingNumber, parseTrackingNumber } from "../src/tracking/number";
import { BERLIN, day, eur, failure, makeShipment, PARIS } from "./support";

describe("Parcel", () => {
  it("reads weight, size and reference", () => {
    const parcel = Parcel.parse(" 2.5kg 40x30x20cm blue  box ");
    expect(parcel.weight.grams).toBe(2500);
    expect(parcel.dimensions.toJSON()).toEqual([400, 300, 200]);
    expect(parcel.reference).toBe("blue box");
    expect(String(parcel)).toBe("2.5 kg, 40 x 30 x 20 cm");
    expect(Parcel.parse("1kg 1x1x1cm").reference).toBeUndefined();
  });

  it("limits the weight", () => {
    expect(failure(() => Parcel.parse("0kg 1x1x1cm"))).toBe("ValidationError: weight: must not be zero");
    expect(failure(() => Parcel.parse("70.5kg 1x1x1cm"))).toBe(
      "ValidationError: weight: 70.5 kg is above the limit of 70 kg",
    );
    expect(Parcel.parse("70kg 1x1x1cm").weight.grams).toBe(70_000);
  });

  it.each([
    ["1kg 120x10x10cm", false],
    ["1kg 121x10x10cm", true],
    ["1kg 100x50x50cm", false],
    ["1kg 100x51x50cm", true],
  ])("%s is bulky: %s", (text, bulky) => {
    expect(Parcel.parse(text).isBulky).toBe(bulky);
  });

  it("bills the larger weight", () => {
    expect(Parcel.parse("1kg 50x40x20cm").billableWeight(5000).grams).toBe(8000);
    expect(Parcel.parse("9kg 50x40x20cm").billableWeight(5000).grams).toBe(9000);
  });

  it("survives JSON", () => {
    const parcel = Parcel.parse("1kg 3x2x1cm toys");
    const json = JSON.parse(JSON.stringify(parcel)) as unknown;
    expect(json).toEqual({ weight: 1000, dimensions: [30, 20, 10], reference: "toys" });
    expect(Parcel.fromJSON(json)).toEqual(parcel);
    expect(Parcel.parse("1kg 3x2x1cm").toJSON()).not.toHaveProperty("reference");
    expect(failure(() => Parcel.fromJSON({ weight: "x" }))).toContain("parcel.weight: must be an integer");
    expect(failure(() => Parcel.fromJSON(1))).toBe("ValidationError: parcel: must be an object");
  });
});

describe("tracking numbers", () => {
  it.each([
    ["47312482", 9],
    ["12345678", 5],
    ["00000000", 5],
    ["00000101", 0],
  ])("computes the check digit of %s", (serial, digit) => {
    expect(checkDigit(serial)).toBe(digit);
  });

  it("formats and verifies", () => {
    expect(formatTrackingNumber("RR", 47_312_482, "GB")).toBe("RR473124829GB");
    expect(formatTrackingNumber("WB", 1, "DE")).toBe("WB000000014DE");
    expect(parseTrackingNumber("rr 4731 2482 9 gb")).toBe("RR473124829GB");
  });

  it("refuses bad numbers", () => {
    expect(failure(() => parseTrackingNumber("RR1"))).toBe(
      'ParseError: bad tracking number "RR1" at 1:1',
    );
    expect(failure(() => parseTrackingNumber("RR473124828GB"))).toBe(
      "ParseError: check digit of RR473124828GB should be 9 at 1:11",
    );
    expect(failure(() => formatTrackingNumber("r1", 1, "DE"))).toBe(
      "ValidationError: prefix: must be two capital letters",
    );
    expect(failure(() => formatTrackingNumber("WB", 100_000_000, "DE"))).toContain("serial");
  });
});

describe("TrackingHistory", () => {
  const start = TrackingHistory.start(day("2024-04-30"), "Berlin");
  const follow = (...statuses: Status[]): TrackingHistory =>
    statuses.reduce(
      (history, status, index) =>
        history.append({ status, at: day("2024-05-01").plusDays(index), place: `Hub ${index}` }),
      start,
    );

  it("starts as created", () => {
    expect(start.status).toBe("created");
    expect(start.latest).toEqual({ status: "created", at: day("2024-04-30"), place: "Berlin" });
    expect(start.isOpen).toBe(true);
  });

  it("follows a delivery", () => {
    const history = follow("collected", "in-transit", "in-transit", "out-for-delivery", "delivered");
    expect(history.status).toBe("delivered");
    expect(history.isOpen).toBe(false);
    expect(history.events).toHaveLength(6);
    expect(String(history.reachedAt("in-transit"))).toBe("2024-05-02");
    expect(history.reachedAt("exception")).toBeUndefined();
    expect(start.events).toHaveLength(1);
  });

  it("refuses impossible steps", () => {
    expect(failure(() => follow("delivered"))).toBe(
      "TransitionError: cannot go from created to delivered",
    );
    expect(failure(() => follow("cancelled", "collected"))).toBe(
      "TransitionError: cannot go from cancelled to collected",
    );
  });

  it("refuses going back in time", () => {
    const early = { status: "collected", at: day("2024-04-29"), place: "x" } as const;
    expect(failure(() => start.append(early))).toBe("ValidationError: at: 2024-04-29 is before 2024-04-30");
    expect(start.append({ ...early, at: day("2024-04-30") }).status).toBe("collected");
  });

  it("has a complete transition table", () => {
    const pairs = STATUSES.flatMap((from) =>
      STATUSES.filter((to) => canFollow(from, to)).map((to) => `${from}>${to}`),
    );
    expect(pairs).toEqual([
      "created>collected",
      "created>cancelled",
      "collected>in-transit",
      "collected>exception",
      "in-transit>in-transit",
      "in-transit>out-for-delivery",
      "in-transit>exception",
      "out-for-delivery>delivered",
      "out-for-delivery>exception",
      "exception>in-transit",
      "exception>out-for-delivery",
      "exception>returned",
    ]);
    expect(STATUSES.filter(isFinal)).toEqual(["delivered", "returned", "cancelled"]);
  });

  it("survives JSON", () => {
    const history = follow("collected", "exception", "returned");
    const json = JSON.parse(JSON.stringify(history)) as unknown[];
    expect(json[1]).toEqual({ status: "collected", at: "2024-05-01", place: "Hub 0" });
    expect(TrackingHistory.fromJSON(json)).toEqual(history);
    const message = "ValidationError: events: must begin with created";
    expect(failure(() => TrackingHistory.fromJSON([]))).toBe(message);
    expect(failure(() => TrackingHistory.fromJSON(json.slice(1)))).toBe(message);
    expect(failure(() => TrackingHistory.fromJSON([{ status: "lost" }]))).toContain("events[0].status");
    expect(failure(() => TrackingHistory.fromJSON([1]))).toContain("events[0]: must be an object");
  });
});

describe("Shipment", () => {
  const shipment = makeShipment();

  it("exposes its data", () => {
    expect(shipment.id).toBe("RR473124829GB");
    expect(shipment.from).toBe(BERLIN);
    expect(shipment.to).toBe(PARIS);
    expect(shipment.service).toBe("express");
    expect(shipment.price).toEqual(eur("19.99"));
    expect(String(shipment.deliverBy)).toBe("2024-05-03");
    expect(shipment.weight.grams).toBe(2750);
    expect(shipment.status).toBe("created");
    expect(shipment.parcels).toHaveLength(2);
  });

  it("validates", () => {
    expect(makeShipment({ id: "rr 473124829 gb" }).id).toBe("RR473124829GB");
    expect(failure(() => makeShipment({ parcels: [] }))).toBe("ValidationError: parcels: must not be empty");
    expect(failure(() => makeShipment({ price: eur("-1") }))).toBe(
      "ValidationError: price: must not be negative",
    );
    expect(failure(() => makeShipment({ id: "x" }))).toContain("bad tracking number");
  });

  it("records events without changing the original", () => {
    const moved = shipment.record({ status: "collected", at: day("2024-05-01"), place: "Berlin" });
    expect(moved.status).toBe("collected");
    expect(moved.id).toBe(shipment.id);
    expect(shipment.status).toBe("created");
  });

  it("is late when open after the promised day", () => {
    expect(shipment.isLate(day("2024-05-03"))).toBe(false);
    expect(shipment.isLate(day("2024-05-04"))).toBe(true);
    const cancelled = shipment.record({ status: "cancelled", at: day("2024-05-01"), place: "x" });
    expect(cancelled.isLate(day("2024-05-04"))).toBe(false);
  });

  it("is late when delivered after the promised day", () => {
    const deliver = (at: string): Shipment =>
      (["collected", "in-transit", "out-for-delivery", "delivered"] as const).reduce(
        (moving, status) => moving.record({ status, at: day(at), place: "x" }),
        shipment,
      );
    expect(deliver("2024-05-03").isLate(day("2024-06-01"))).toBe(false);
    expect(deliver("2024-05-04").isLate(day("2024-05-04"))).toBe(true);
  });

  it("survives JSON", () => {
    const json = JSON.parse(JSON.stringify(shipment)) as Record<string, unknown>;
    expect(Object.keys(json)).toEqual([
      "id",
      "from",
      "to",
      "parcels",
      "service",
      "price",
      "deliverBy",
      "history",
    ]);
    expect(Shipment.fromJSON(json)).toEqual(shipment);
    expect(failure(() => Shipment.fromJSON({ ...json, service: "" }))).toContain("service");
    expect(failure(() => Shipment.fromJSON(null))).toBe("ValidationError: shipment: must be an object");
  });
});
