"""Recurring entries: templates that expand to transactions in a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from .dates import Period, add_months, format_date, parse_date
from .errors import ParseError, ValidationError
from .transactions import Posting, Transaction, sort_transactions


class Frequency(Enum):
    """How often an entry comes back."""

    WEEKLY = "weekly"
    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"

    @classmethod
    def parse(cls, text: str) -> "Frequency":
        """Read the name of a frequency, whatever its case."""
        name = text.strip().lower()
        for member in cls:
            if member.value == name:
                return member
        raise ParseError("unknown frequency", text=text)

    @property
    def months(self) -> int:
        """The step in months, zero for steps counted in days."""
        return {"weekly": 0, "monthly": 1, "quarterly": 3, "yearly": 12}[self.value]

    @property
    def longest_step_days(self) -> int:
        """The most days that can lie between two dates."""
        return self.months * 31 if self.months else 7

    @property
    def shortest_step_days(self) -> int:
        """The fewest days that can lie between two dates."""
        return self.months * 28 if self.months else 7

    def nth(self, start: date, index: int) -> date:
        """Return the date ``index`` steps after ``start``.

        Steps are counted from the start, so that an entry of the 31st comes
        back to the 31st after a short month.
        """
        if self.months:
            return add_months(start, index * self.months)
        return start + timedelta(weeks=index)


@dataclass(frozen=True)
class Schedule:
    """A first day, a frequency, and maybe a last day."""

    start: date
    frequency: Frequency
    until: Optional[date] = None

    def __post_init__(self) -> None:
        if self.until is not None and self.until < self.start:
            raise ValidationError("schedule ends before it starts", start=self.start)

    def dates(self, period: Period) -> Iterator[date]:
        """Yield the due dates which lie in ``period``, in order."""
        last = period.end if self.until is None else min(period.end, self.until)
        steps = (last - self.start).days // self.frequency.shortest_step_days + 1
        for index in range(steps):
            day = self.frequency.nth(self.start, index)
            if day in period and day <= last:
                yield day

    def next_after(self, day: date) -> Optional[date]:
        """Return the first due date later than ``day``."""
        first = max(day + timedelta(days=1), self.start)
        window = Period(first, first + timedelta(days=self.frequency.longest_step_days))
        return next(self.dates(window), None)

    def to_dict(self) -> Dict[str, Any]:
        data = {"start": format_date(self.start), "frequency": self.frequency.value}
        if self.until is not None:
            data["until"] = format_date(self.until)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Schedule":
        until = data.get("until")
        return cls(
            start=parse_date(data["start"]),
            frequency=Frequency.parse(data["frequency"]),
            until=parse_date(until) if until else None,
        )


@dataclass(frozen=True)
class RecurringEntry:
    """A template transaction with the schedule on which it is booked."""

    name: str
    schedule: Schedule
    payee: str
    postings: Tuple[Posting, ...]

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValidationError("recurring entry needs a name", payee=self.payee)
        self.instance(self.schedule.start)

    def instance(self, day: date) -> Transaction:
        """Return the transaction for one due date."""
        key = f"{self.name}@{format_date(day)}"
        return Transaction(day, self.payee, self.postings, ("recurring",), key=key)

    def expand(self, period: Period) -> List[Transaction]:
        """Return the transactions due in ``period``."""
        return [self.instance(day) for day in self.schedule.dates(period)]

    def to_dict(self) -> Dict[str, Any]:
        return {
            "name": self.name,
            "schedule": self.schedule.to_dict(),
            "payee": self.payee,
            "postings": [posting.to_dict() for posting in self.postings],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RecurringEntry":
        return cls(
            name=data["name"],
            schedule=Schedule.from_dict(data["schedule"]),
            payee=data["payee"],
            postings=tuple(Posting.from_dict(item) for item in data["postings"]),
        )


def expand_all(
    entries: Iterable[RecurringEntry], period: Period, booked: Iterable[Transaction] = ()
) -> List[Transaction]:
    """Expand all entries, leaving out those which are booked already."""
    known = {transaction.key for transaction in booked}
    due = []
    for entry in entries:
        for transaction in entry.expand(period):
            if transaction.key not in known:
                due.append(transaction)
    return sort_transactions(due)
