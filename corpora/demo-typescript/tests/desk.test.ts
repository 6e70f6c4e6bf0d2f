import { beforeEach, describe, expect, it, vi } from "vitest";
import { EventBus, MemoryFileSystem, FileRepository, Shipment, ShippingDesk } from "../src/index";
import { day, eur, makeEngine, makeRequest, PARIS } from "./support";

describe("EventBus", () => {
  it("delivers in order and counts", () => {
    const bus = new EventBus<{ ping: number }>();
    const seen: string[] = [];
    bus.on("ping", (value) => seen.push(`a${value}`));
    bus.on("ping", (value) => seen.push(`b${value}`));
    expect(bus.emit("ping", 1)).toBe(2);
    expect(seen).toEqual(["a1", "b1"]);
  });

  it("delivers nothing to nobody", () => {
    expect(new EventBus<{ ping: number }>().emit("ping", 1)).toBe(0);
  });

  it("ends subscriptions", () => {
    const bus = new EventBus<{ ping: number }>();
    const [first, second] = [vi.fn(), vi.fn()];
    const stop = bus.on("ping", first);
    bus.on("ping", second);
    stop();
    bus.emit("ping", 1);
    bus.off("ping", second);
    bus.emit("ping", 2);
    expect(first).not.toHaveBeenCalled();
    expect(second.mock.calls).toEqual([[1]]);
  });

  it("delivers once", () => {
    const bus = new EventBus<{ ping: number }>();
    const [handler, stopped] = [vi.fn(), vi.fn()];
    bus.once("ping", handler);
    bus.once("ping", stopped)();
    bus.emit("ping", 1);
    bus.emit("ping", 2);
    expect(handler.mock.calls).toEqual([[1]]);
    expect(stopped).not.toHaveBeenCalled();
  });

  it("gathers failures after calling everyone", () => {
    const bus = new EventBus<{ ping: number }>();
    const handler = vi.fn();
    const failure = new Error("broken");
    bus.on("ping", () => {
      throw failure;
    });
    bus.on("ping", handler);
    expect(() => bus.emit("ping", 1)).toThrow("1 handlers of ping failed");
    expect(handler).toHaveBeenCalledWith(1);
    const error = ((): unknown => {
      try {
        return bus.emit("ping", 2);
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toHaveProperty("errors", [failure]);
  });
});

describe("ShippingDesk", () => {
  const today = day("2024-04-29");
  let files: MemoryFileSystem;
  let desk: ShippingDesk;

  beforeEach(() => {
    files = new MemoryFileSystem();
    const shipments = new FileRepository("shipment", files, "shipments", Shipment.fromJSON);
    desk = new ShippingDesk(makeEngine(), shipments, 47_312_482);
  });

  it("books a shipment at the quoted price", async () => {
    const booked = vi.fn();
    desk.events.on("booked", booked);
    const shipment = await desk.book(makeRequest(), "express", today);
    expect(shipment.id).toBe("WB473124829DE");
    expect(shipment.price).toEqual(eur("13.87"));
    expect(String(shipment.deliverBy)).toBe("2024-04-30");
    expect(shipment.service).toBe("express");
    expect(shipment.history.latest).toEqual({ status: "created", at: today, place: "Berlin" });
    expect(await files.list("shipments")).toEqual(["shipments/WB473124829DE.json"]);
    expect(booked.mock.calls).toEqual([[shipment]]);
  });

  it("numbers shipments consecutively, from 1 by default", async () => {
    await desk.book(makeRequest(), "express", today);
    const second = await desk.book(makeRequest({ to: PARIS }), "economy", today);
    expect(second.id).toBe("WB473124832DE");
    const fresh = new FileRepository("shipment", files, "fresh", Shipment.fromJSON);
    const other = new ShippingDesk(makeEngine(), fresh);
    expect((await other.book(makeRequest(), "express", today)).id).toBe("WB000000014DE");
  });

  it("tracks by number in any spelling", async () => {
    const shipment = await desk.book(makeRequest(), "express", today);
    expect(await desk.track("wb 47312482 9 de")).toEqual(shipment);
    await expect(desk.track("WB473124832DE")).rejects.toThrow("no shipment with key WB473124832DE");
  });

  it("records events and announces them", async () => {
    const { id } = await desk.book(makeRequest(), "express", today);
    const moved = vi.fn();
    const cancelled = vi.fn();
    desk.events.on("moved", moved);
    desk.events.on("cancelled", cancelled);
    const shipment = await desk.record(id, { status: "collected", at: today, place: "Berlin" });
    expect(shipment.status).toBe("collected");
    expect(moved.mock.calls).toEqual([[{ shipment, previous: "created" }]]);
    expect((await desk.track(id)).status).toBe("collected");
    await desk.record(id, { status: "in-transit", at: today, place: "Leipzig" });
    expect((await desk.track(id)).history.latest.place).toBe("Leipzig");
    expect(cancelled).not.toHaveBeenCalled();
  });

  it("cancels before collection only", async () => {
    const { id } = await desk.book(makeRequest(), "express", today);
    const cancelled = vi.fn();
    desk.events.on("cancelled", cancelled);
    const shipment = await desk.cancel(id, today);
    expect(shipment.history.latest).toEqual({ status: "cancelled", at: today, place: "desk" });
    expect(cancelled.mock.calls).toEqual([[{ id }]]);
    await expect(desk.cancel(id, today)).rejects.toThrow("cannot go from cancelled to cancelled");
  });

  it("lists late shipments", async () => {
    const fast = await desk.book(makeRequest(), "express", today);
    const slow = await desk.book(makeRequest(), "economy", today);
    const ids = async (on: string): Promise<string[]> =>
      (await desk.late(day(on))).map((shipment) => shipment.id);
    expect(await ids("2024-04-30")).toEqual([]);
    expect(await ids("2024-05-01")).toEqual([fast.id]);
    expect(await ids("2024-05-04")).toEqual([fast.id, slow.id]);
  });
});
