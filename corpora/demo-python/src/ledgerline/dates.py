"""Calendar helpers: date parsing, month arithmetic and closed periods."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Dict, Iterator, List, Mapping

from .errors import ParseError, ValidationError

_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_QUARTER = re.compile(r"(\d{4})-[Qq]([1-4])")
_YEAR = re.compile(r"\d{4}")


def parse_date(text: str) -> date:
    """Read ``2024-01-31`` or ``2024/1/31``."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ParseError("not a date", text=text)
    year, month, day = (int(group) for group in match.groups())
    try:
        return date(year, month, day)
    except ValueError as error:
        raise ParseError("no such day", text=text) from error


def format_date(day: date) -> str:
    """Write a date in the form which :func:`parse_date` reads."""
    return day.isoformat()


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month, leap years included."""
    return calendar.monthrange(year, month)[1]


def month_end(day: date) -> date:
    """Return the last day of the month ``day`` lies in."""
    return day.replace(day=days_in_month(day.year, day.month))


def add_months(day: date, months: int) -> date:
    """Move ``day`` by whole months, clamping to the end of short months."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = days_in_month(year, month + 1)
    return date(year, month + 1, min(day.day, last))


@dataclass(frozen=True, order=True)
class Period:
    """A range of days which includes both of its ends."""

    start: date
    end: date

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValidationError("period ends before it starts", start=self.start, end=self.end)

    @classmethod
    def month(cls, year: int, month: int) -> "Period":
        """Return one calendar month."""
        first = date(year, month, 1)
        return cls(first, month_end(first))

    @classmethod
    def quarter(cls, year: int, quarter: int) -> "Period":
        """Return three calendar months; quarters count from one."""
        first = date(year, quarter * 3 - 2, 1)
        return cls(first, month_end(add_months(first, 2)))

    @classmethod
    def year(cls, year: int) -> "Period":
        """Return one calendar year."""
        return cls(date(year, 1, 1), date(year, 12, 31))

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Read a year, a quarter, a month or ``start..end``."""
        stripped = text.strip()
        if ".." in stripped:
            start, _, end = stripped.partition("..")
            return cls(parse_date(start), parse_date(end))
        quarter = _QUARTER.fullmatch(stripped)
        if quarter is not None:
            return cls.quarter(int(quarter.group(1)), int(quarter.group(2)))
        month = _MONTH.fullmatch(stripped)
        if month is not None:
            if not 1 <= int(month.group(2)) <= 12:
                raise ParseError("no such month", text=text)
            return cls.month(int(month.group(1)), int(month.group(2)))
        if _YEAR.fullmatch(stripped):
            return cls.year(int(stripped))
        raise ParseError("not a period", text=text)

    @property
    def days(self) -> int:
        """How many days the period covers."""
        return (self.end - self.start).days + 1

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and self.start <= day <= self.end

    def __str__(self) -> str:
        return f"{format_date(self.start)}..{format_date(self.end)}"

    def overlaps(self, other: "Period") -> bool:
        """Tell whether the two periods share at least one day."""
        return self.start <= other.end and other.start <= self.end

    def iter_days(self) -> Iterator[date]:
        """Yield every day of the period in order."""
        for offset in range(self.days):
            yield self.start + timedelta(days=offset)

    def months(self) -> List["Period"]:
        """Cut the period at month ends; the outer pieces may be short."""
        count = (self.end.year - self.start.year) * 12 + self.end.month - self.start.month
        pieces = []
        for offset in range(count + 1):
            first = add_months(self.start.replace(day=1), offset)
            pieces.append(Period(max(first, self.start), min(month_end(first), self.end)))
        return pieces

    def to_dict(self) -> Dict[str, Any]:
        return {"start": format_date(self.start), "end": format_date(self.end)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Period":
        return cls(parse_date(data["start"]), parse_date(data["end"]))
