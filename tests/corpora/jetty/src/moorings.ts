/** A boat that wants to lie at the jetty. */
export interface Boat {
  name: string;
  length: number;
}

/** The places along a jetty, one boat each. */
export class Jetty {
  private readonly boats = new Map<number, Boat>();

  constructor(private readonly lengths: readonly number[]) {}

  /** Gives a boat the shortest free place that it fits in, and returns its number. */
  moor(boat: Boat): number {
    const free = this.lengths
      .map((length, index) => ({ length, number: index + 1 }))
      .filter((place) => !this.boats.has(place.number) && place.length >= boat.length);
    if (free.length === 0) {
      throw new Error(`no place for ${boat.name}`);
    }
    free.sort((a, b) => a.length - b.length || a.number - b.number);
    this.boats.set(free[0].number, boat);
    return free[0].number;
  }

  /** Lets a boat leave; says whether it was there. */
  leave(name: string): boolean {
    for (const [number, boat] of this.boats) {
      if (boat.name === name) {
        this.boats.delete(number);
        return true;
      }
    }
    return false;
  }
}
