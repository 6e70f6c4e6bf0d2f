from datetime import date

import pytest

from ledgerline.currency import EUR
from ledgerline.dates import Period
from ledgerline.errors import ParseError, UnbalancedError, ValidationError
from ledgerline.money import Money
from ledgerline.recurring import Frequency, RecurringEntry, Schedule, expand_all
from ledgerline.transactions import Posting

POSTINGS = (Posting("expenses:rent", Money(900, EUR)), Posting("assets:bank", Money(-900, EUR)))


@pytest.fixture
def month_ends():
    return Schedule(date(2024, 1, 31), Frequency.MONTHLY)


@pytest.fixture
def entry(month_ends):
    return RecurringEntry("rent", month_ends, "Landlord", POSTINGS)


def test_parse_frequency():
    assert Frequency.parse(" Monthly ") is Frequency.MONTHLY


def test_parse_unknown_frequency():
    with pytest.raises(ParseError, match="unknown frequency"):
        Frequency.parse("daily")


def test_frequency_months():
    assert [frequency.months for frequency in Frequency] == [0, 1, 3, 12]


def test_frequency_step_bounds():
    assert [frequency.shortest_step_days for frequency in Frequency] == [7, 28, 84, 336]
    assert [frequency.longest_step_days for frequency in Frequency] == [7, 31, 93, 372]


@pytest.mark.parametrize(
    "frequency, expected",
    [
        (Frequency.WEEKLY, date(2024, 2, 14)),
        (Frequency.MONTHLY, date(2024, 3, 31)),
        (Frequency.QUARTERLY, date(2024, 7, 31)),
        (Frequency.YEARLY, date(2026, 1, 31)),
    ],
)
def test_nth_date(frequency, expected):
    assert frequency.nth(date(2024, 1, 31), 2) == expected


def test_schedule_must_not_end_before_it_starts():
    with pytest.raises(ValidationError, match="ends before"):
        Schedule(date(2024, 1, 2), Frequency.WEEKLY, date(2024, 1, 1))


def test_month_end_dates_come_back(month_ends):
    assert list(month_ends.dates(Period.quarter(2024, 1))) == [
        date(2024, 1, 31),
        date(2024, 2, 29),
        date(2024, 3, 31),
    ]


def test_dates_before_the_start(month_ends):
    assert list(month_ends.dates(Period.year(2023))) == []


def test_dates_in_the_middle_of_a_schedule():
    schedule = Schedule(date(2024, 1, 1), Frequency.WEEKLY)
    period = Period(date(2024, 1, 8), date(2024, 1, 22))
    assert list(schedule.dates(period)) == [date(2024, 1, 8), date(2024, 1, 15), date(2024, 1, 22)]


def test_dates_stop_at_the_last_day():
    schedule = Schedule(date(2024, 1, 15), Frequency.MONTHLY, date(2024, 3, 14))
    assert list(schedule.dates(Period.year(2024))) == [date(2024, 1, 15), date(2024, 2, 15)]


def test_next_after(month_ends):
    assert month_ends.next_after(date(2020, 1, 1)) == date(2024, 1, 31)
    assert month_ends.next_after(date(2024, 1, 30)) == date(2024, 1, 31)
    assert month_ends.next_after(date(2024, 1, 31)) == date(2024, 2, 29)


def test_next_after_a_finished_schedule():
    schedule = Schedule(date(2024, 1, 1), Frequency.YEARLY, date(2025, 6, 1))
    assert schedule.next_after(date(2024, 1, 1)) == date(2025, 1, 1)
    assert schedule.next_after(date(2025, 1, 1)) is None


def test_schedule_dict_round_trip():
    schedule = Schedule(date(2024, 1, 1), Frequency.WEEKLY, date(2024, 3, 1))
    data = schedule.to_dict()
    assert data == {"start": "2024-01-01", "frequency": "weekly", "until": "2024-03-01"}
    assert Schedule.from_dict(data) == schedule


def test_schedule_dict_without_an_end(month_ends):
    assert "until" not in month_ends.to_dict()
    assert Schedule.from_dict(month_ends.to_dict()) == month_ends


def test_entry_needs_a_name(month_ends):
    with pytest.raises(ValidationError, match="needs a name"):
        RecurringEntry(" ", month_ends, "Landlord", POSTINGS)


def test_entry_must_balance(month_ends):
    with pytest.raises(UnbalancedError):
        RecurringEntry("rent", month_ends, "Landlord", (POSTINGS[0], POSTINGS[0]))


def test_entry_instance(entry):
    transaction = entry.instance(date(2024, 2, 29))
    assert transaction.key == "rent@2024-02-29"
    assert transaction.payee == "Landlord"
    assert transaction.tags == ("recurring",)
    assert transaction.postings == POSTINGS


def test_entry_expand(entry):
    keys = [transaction.key for transaction in entry.expand(Period.parse("2024-02-01..2024-03-31"))]
    assert keys == ["rent@2024-02-29", "rent@2024-03-31"]


def test_entry_dict_round_trip(entry):
    data = entry.to_dict()
    assert data["name"] == "rent"
    assert data["payee"] == "Landlord"
    assert len(data["postings"]) == 2
    assert RecurringEntry.from_dict(data) == entry


def test_expand_all_skips_what_is_booked(entry):
    weekly = RecurringEntry(
        "paper", Schedule(date(2024, 2, 20), Frequency.WEEKLY), "Kiosk", POSTINGS
    )
    booked = [weekly.instance(date(2024, 2, 20))]
    due = expand_all([entry, weekly], Period.month(2024, 2), booked)
    assert [transaction.key for transaction in due] == ["paper@2024-02-27", "rent@2024-02-29"]
