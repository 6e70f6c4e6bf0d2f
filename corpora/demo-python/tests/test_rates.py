from datetime import date
from decimal import Decimal

import pytest

from ledgerline.balances import Balance
from ledgerline.currency import EUR, GBP, JPY, USD
from ledgerline.errors import CurrencyError, ParseError, ValidationError
from ledgerline.money import Money
from ledgerline.rates import Rate, RateTable

NEW_YEAR = date(2024, 1, 1)


@pytest.fixture
def table():
    return RateTable(
        [
            Rate(date(2024, 2, 1), USD, EUR, Decimal("0.80")),
            Rate(NEW_YEAR, USD, EUR, Decimal("0.92")),
            Rate(NEW_YEAR, EUR, JPY, Decimal("160")),
        ]
    )


def test_parse_rate():
    assert Rate.parse("2024-01-01 usd EUR 0.92") == Rate(NEW_YEAR, USD, EUR, Decimal("0.92"))


def test_parse_rate_refuses():
    with pytest.raises(ParseError, match="two currencies"):
        Rate.parse("2024-01-01 USD 0.92")


def test_rate_text_round_trip():
    rate = Rate(NEW_YEAR, USD, EUR, Decimal("0.92"))
    assert str(rate) == "2024-01-01 USD EUR 0.92"
    assert Rate.parse(str(rate)) == rate


@pytest.mark.parametrize("factor", ["0", "-1"])
def test_rate_must_be_positive(factor):
    with pytest.raises(ValidationError, match="positive"):
        Rate(NEW_YEAR, USD, EUR, Decimal(factor))


def test_rate_needs_two_currencies():
    with pytest.raises(CurrencyError, match="two currencies"):
        Rate(NEW_YEAR, EUR, EUR, Decimal(1))


def test_rate_dict_round_trip():
    rate = Rate(NEW_YEAR, USD, EUR, Decimal("0.92"))
    data = rate.to_dict()
    assert data == {"day": "2024-01-01", "base": "USD", "quote": "EUR", "factor": "0.92"}
    assert Rate.from_dict(data) == rate


def test_latest_rate_up_to_the_day(table):
    assert table.factor(USD, EUR, date(2024, 1, 31)) == Decimal("0.92")
    assert table.factor(USD, EUR, date(2024, 2, 1)) == Decimal("0.80")
    assert table.factor(USD, EUR, NEW_YEAR) == Decimal("0.92")


def test_same_currency(table):
    assert table.factor(GBP, GBP, NEW_YEAR) == Decimal(1)


def test_inverse_rate(table):
    assert table.factor(EUR, USD, date(2024, 2, 1)) == Decimal("1.25")


def test_no_rate_yet(table):
    with pytest.raises(CurrencyError) as caught:
        table.factor(USD, EUR, date(2023, 12, 31))
    assert caught.value.describe() == (
        "currency: no rate for this day (base=USD, day=2023-12-31, quote=EUR)"
    )


def test_rate_of_the_same_day_is_replaced(table):
    assert len(table) == 3
    table.add(Rate(NEW_YEAR, USD, EUR, Decimal("0.95")))
    assert len(table) == 3
    assert table.factor(USD, EUR, date(2024, 1, 15)) == Decimal("0.95")


def test_rates_may_be_added_in_any_order(table):
    table.add(Rate(date(2024, 1, 10), USD, EUR, Decimal("0.90")))
    assert table.factor(USD, EUR, date(2024, 1, 12)) == Decimal("0.90")
    assert table.factor(USD, EUR, date(2024, 3, 1)) == Decimal("0.80")


def test_convert_rounds_half_up(table):
    assert table.convert(Money("0.75", USD), EUR, NEW_YEAR) == Money("0.69", EUR)
    assert table.convert(Money("1.33", EUR), JPY, NEW_YEAR) == Money("213", JPY)
    assert table.convert(Money("12.50", USD), EUR, date(2024, 2, 1)) == Money("10.00", EUR)


def test_value_of_a_balance(table):
    balance = Balance([Money(10, USD), Money(5, EUR)])
    assert table.value(balance, EUR, date(2024, 2, 1)) == Money("13.00", EUR)
    assert table.value(Balance(), EUR, NEW_YEAR) == Money(0, EUR)
