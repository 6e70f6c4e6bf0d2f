import { ValidationError } from "../errors";
import type { LocalDate, Weekday } from "./date";

const SEARCH_LIMIT_DAYS = 60;

/** Knows on which days a depot works. */
export class BusinessCalendar {
  private readonly closedWeekdays: ReadonlySet<Weekday>;
  private readonly holidays = new Set<number>();

  constructor(closedWeekdays: Iterable<Weekday> = ["sat", "sun"]) {
    this.closedWeekdays = new Set(closedWeekdays);
    if (this.closedWeekdays.size === 7) {
      throw new ValidationError("closedWeekdays", "must leave a working day");
    }
  }

  addHoliday(date: LocalDate): this {
    this.holidays.add(date.epochDay);
    return this;
  }

  isOpen(date: LocalDate): boolean {
    return !this.closedWeekdays.has(date.weekday) && !this.holidays.has(date.epochDay);
  }

  /** The given day when it is open, otherwise the first open one after it. */
  nextOpenDay(from: LocalDate): LocalDate {
    for (let offset = 0; offset < SEARCH_LIMIT_DAYS; offset += 1) {
      const candidate = from.plusDays(offset);
      if (this.isOpen(candidate)) {
        return candidate;
      }
    }
    throw new ValidationError("calendar", `no open day within ${SEARCH_LIMIT_DAYS} days of ${from}`);
  }

  /** Moves forward by `count` open days; the starting day itself is not counted. */
  addOpenDays(from: LocalDate, count: number): LocalDate {
    let current = from;
    for (let step = 0; step < count; step += 1) {
      current = this.nextOpenDay(current.plusDays(1));
    }
    return current;
  }
}
