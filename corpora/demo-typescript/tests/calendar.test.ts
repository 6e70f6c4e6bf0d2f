import { describe, expect, it } from "vitest";
import { BusinessCalendar } from "../src/calendar/business";
import { daysInMonth, isLeapYear, LocalDate, WEEKDAYS } from "../src/calendar/date";
import { day, failure } from "./support";

describe("LocalDate", () => {
  it("knows leap years", () => {
    expect([1900, 2000, 2023, 2024].map(isLeapYear)).toEqual([false, true, false, true]);
    expect(daysInMonth(2024, 2)).toBe(29);
    expect(daysInMonth(2023, 2)).toBe(28);
    expect(daysInMonth(2023, 13)).toBe(0);
  });

  it.each([
    ["1970-01-01", 0],
    ["1969-12-31", -1],
    ["2000-02-29", 11_016],
    ["2024-03-01", 19_783],
    ["2199-12-31", 84_005],
  ])("converts %s to day %i and back", (text, epochDay) => {
    expect(day(text).epochDay).toBe(epochDay);
    expect(LocalDate.ofEpochDay(epochDay).toString()).toBe(text);
  });

  it("refuses impossible dates", () => {
    expect(failure(() => day("2023-02-29"))).toBe("ValidationError: day: must be between 1 and 28");
    expect(failure(() => day("2023-13-01"))).toBe("ValidationError: month: must be between 1 and 12");
    expect(failure(() => day("1899-01-01"))).toBe(
      "ValidationError: year: must be between 1900 and 2199",
    );
    expect(failure(() => day("1.1.2024"))).toBe('ParseError: bad date "1.1.2024" at 1:1');
  });

  it("knows weekdays, also before the epoch", () => {
    expect(day("2024-04-29").weekday).toBe("mon");
    expect(day("1969-12-28").weekday).toBe("sun");
    expect(day("1950-01-04").weekday).toBe("wed");
  });

  it("adds days across months", () => {
    expect(String(day("2024-02-28").plusDays(2))).toBe("2024-03-01");
    expect(String(day("2024-01-01").plusDays(-1))).toBe("2023-12-31");
  });

  it("compares", () => {
    expect(day("2024-03-01").compareTo(day("2024-02-28"))).toBe(2);
    expect(day("2024-03-01").equals(day("2024-03-01"))).toBe(true);
    expect(day("2024-03-01").equals(day("2024-03-02"))).toBe(false);
  });

  it("survives JSON", () => {
    expect(JSON.stringify(day("2024-03-01"))).toBe('"2024-03-01"');
    expect(String(LocalDate.fromJSON("2024-03-01"))).toBe("2024-03-01");
    expect(failure(() => LocalDate.fromJSON(1))).toBe("ValidationError: date: must be a string");
  });
});

describe("BusinessCalendar", () => {
  const calendar = new BusinessCalendar().addHoliday(day("2024-05-01"));

  it("is closed at weekends and on holidays", () => {
    expect(calendar.isOpen(day("2024-05-02"))).toBe(true);
    expect(calendar.isOpen(day("2024-05-01"))).toBe(false);
    expect(calendar.isOpen(day("2024-05-04"))).toBe(false);
  });

  it("takes other closing days", () => {
    const sundays = new BusinessCalendar(["sun"]);
    expect(sundays.isOpen(day("2024-05-04"))).toBe(true);
    expect(sundays.isOpen(day("2024-05-05"))).toBe(false);
  });

  it("must leave a working day", () => {
    expect(failure(() => new BusinessCalendar(WEEKDAYS))).toBe(
      "ValidationError: closedWeekdays: must leave a working day",
    );
  });

  it("finds the next open day", () => {
    expect(String(calendar.nextOpenDay(day("2024-05-03")))).toBe("2024-05-03");
    expect(String(calendar.nextOpenDay(day("2024-05-04")))).toBe("2024-05-06");
  });

  it("gives up when everything is closed", () => {
    const closed = new BusinessCalendar();
    for (let offset = 0; offset < 70; offset += 1) {
      closed.addHoliday(day("2024-05-01").plusDays(offset));
    }
    expect(failure(() => closed.nextOpenDay(day("2024-05-01")))).toBe(
      "ValidationError: calendar: no open day within 60 days of 2024-05-01",
    );
  });

  it("adds open days", () => {
    expect(String(calendar.addOpenDays(day("2024-04-30"), 1))).toBe("2024-05-02");
    expect(String(calendar.addOpenDays(day("2024-04-30"), 3))).toBe("2024-05-06");
    expect(String(calendar.addOpenDays(day("2024-05-04"), 0))).toBe("2024-05-04");
  });
});
