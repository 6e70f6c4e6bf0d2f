from datetime import date

import pytest

from ledgerline.dates import Period, add_months, days_in_month, format_date, month_end, parse_date
from ledgerline.errors import ParseError, ValidationError


@pytest.mark.parametrize("text", ["2024-01-05", "2024/1/5", " 2024-1-05 "])
def test_parse_date(text):
    assert parse_date(text) == date(2024, 1, 5)


@pytest.mark.parametrize("text", ["", "05.01.2024", "24-1-5", "2024-01-05x"])
def test_parse_date_refuses_other_forms(text):
    with pytest.raises(ParseError, match="not a date"):
        parse_date(text)


def test_parse_date_refuses_missing_days():
    with pytest.raises(ParseError, match="no such day") as caught:
        parse_date("2023-02-29")
    assert caught.value.context == {"text": "2023-02-29"}


def test_format_date():
    assert format_date(date(2024, 1, 5)) == "2024-01-05"


def test_days_in_month():
    assert [days_in_month(2024, 2), days_in_month(2023, 2), days_in_month(2023, 12)] == [29, 28, 31]


def test_month_end():
    assert month_end(date(2024, 2, 3)) == date(2024, 2, 29)


@pytest.mark.parametrize(
    "months, expected",
    [
        (1, date(2024, 2, 29)),
        (3, date(2024, 4, 30)),
        (12, date(2025, 1, 31)),
        (-1, date(2023, 12, 31)),
        (-11, date(2023, 2, 28)),
    ],
)
def test_add_months(months, expected):
    assert add_months(date(2024, 1, 31), months) == expected


def test_period_must_not_end_before_it_starts():
    with pytest.raises(ValidationError, match="ends before"):
        Period(date(2024, 1, 2), date(2024, 1, 1))


def test_period_month():
    assert Period.month(2024, 2) == Period(date(2024, 2, 1), date(2024, 2, 29))


def test_period_quarter():
    assert Period.quarter(2024, 4) == Period(date(2024, 10, 1), date(2024, 12, 31))


def test_period_year():
    assert Period.year(2024) == Period(date(2024, 1, 1), date(2024, 12, 31))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2024", "2024-01-01..2024-12-31"),
        ("2024-q2", "2024-04-01..2024-06-30"),
        (" 2024-12 ", "2024-12-01..2024-12-31"),
        ("2024-01-05..2024-01-07", "2024-01-05..2024-01-07"),
    ],
)
def test_parse_period(text, expected):
    assert str(Period.parse(text)) == expected


def test_parse_period_refuses_bad_months():
    with pytest.raises(ParseError, match="no such month"):
        Period.parse("2024-13")


@pytest.mark.parametrize("text", ["", "2024-Q5", "soon"])
def test_parse_period_refuses(text):
    with pytest.raises(ParseError, match="not a period"):
        Period.parse(text)


def test_days():
    assert Period.month(2024, 2).days == 29
    assert Period(date(2024, 1, 1), date(2024, 1, 1)).days == 1


def test_contains_both_ends():
    period = Period.month(2024, 2)
    assert date(2024, 2, 1) in period
    assert date(2024, 2, 29) in period
    assert date(2024, 1, 31) not in period
    assert date(2024, 3, 1) not in period
    assert "2024-02-01" not in period


def test_overlaps():
    january, year = Period.month(2024, 1), Period.year(2024)
    assert january.overlaps(year)
    assert year.overlaps(january)
    assert not january.overlaps(Period.month(2024, 2))
    assert not Period.month(2024, 2).overlaps(january)
    assert january.overlaps(Period(date(2024, 1, 31), date(2024, 2, 1)))


def test_iter_days():
    period = Period(date(2024, 2, 28), date(2024, 3, 1))
    assert list(period.iter_days()) == [date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)]


def test_months_cuts_at_month_ends():
    pieces = Period(date(2023, 12, 15), date(2024, 2, 10)).months()
    assert [str(piece) for piece in pieces] == [
        "2023-12-15..2023-12-31",
        "2024-01-01..2024-01-31",
        "2024-02-01..2024-02-10",
    ]


def test_periods_are_ordered():
    assert Period.month(2024, 1) < Period.month(2024, 2)


def test_period_dict_round_trip():
    data = Period.month(2024, 1).to_dict()
    assert data == {"start": "2024-01-01", "end": "2024-01-31"}
    assert Period.from_dict(data) == Period.month(2024, 1)
