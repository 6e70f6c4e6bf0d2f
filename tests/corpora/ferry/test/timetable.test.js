import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clock, departures, next } from "../src/timetable.js";

describe("the timetable", () => {
  const times = [360, 400, 440, 480];

  it("has the last boat", () => {
    assert.deepEqual(departures(360, 480, 40), [360, 400, 440, 480]);
  });

  it("knows the next boat", () => {
    assert.equal(next(times, 401), 440);
    assert.equal(next(times, 440), 440);
    assert.equal(next(times, 481), undefined);
  });

  it("shows a clock", () => {
    assert.deepEqual([0, 65, 1445].map(clock), ["0:00", "1:05", "0:05"]);
  });
});
