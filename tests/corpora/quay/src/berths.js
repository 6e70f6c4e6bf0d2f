"use strict";

/** Berths along a quay wall, one boat each. */
class Quay {
  constructor(lengths) {
    this.berths = lengths.map((length, index) => ({ number: index + 1, length, boat: undefined }));
  }

  /** Give a boat the shortest free berth that it fits in. */
  moor(boat, length) {
    const free = this.berths.filter((berth) => berth.boat === undefined && berth.length >= length);
    if (free.length === 0) {
      throw new Error(`no berth for ${boat}`);
    }
    free.sort((a, b) => a.length - b.length || a.number - b.number);
    free[0].boat = boat;
    return free[0].number;
  }

  /** Let a boat leave; say whether it was there. */
  leave(boat) {
    const berth = this.berths.find((each) => each.boat === boat);
    if (berth) {
      berth.boat = undefined;
    }
    return berth !== undefined;
  }
}

module.exports = { Quay };
