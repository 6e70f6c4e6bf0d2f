from decimal import ROUND_DOWN, Decimal

import pytest

from ledgerline.currency import EUR, JPY, USD
from ledgerline.errors import CurrencyError, ParseError, ValidationError
from ledgerline.money import Money, parse_decimal, sum_money, to_decimal


def eur(text):
    return Money(text, EUR)


@pytest.mark.parametrize(
    "text, expected",
    [("12", "12"), (" 1,234.50 ", "1234.50"), ("-0.5", "-0.5"), ("+7", "7"), ("1,234,567", "1234567")],
)
def test_parse_decimal(text, expected):
    assert parse_decimal(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "abc", "1,23", "1.", ".5", "1e5", "NaN", "--1"])
def test_parse_decimal_refuses(text):
    with pytest.raises(ParseError, match="not a number") as caught:
        parse_decimal(text)
    assert caught.value.context == {"text": text}


def test_to_decimal_accepts_exact_numbers():
    assert to_decimal(3) == Decimal(3)
    assert type(to_decimal(3)) is Decimal
    assert to_decimal("1.5") == Decimal("1.5")
    value = Decimal("2.25")
    assert to_decimal(value) is value


@pytest.mark.parametrize("value", [1.5, True])
def test_to_decimal_refuses_inexact_numbers(value):
    with pytest.raises(ValidationError, match="exact"):
        to_decimal(value)


def test_amount_is_quantized():
    assert str(eur("5").amount) == "5.00"
    assert eur("5").currency is EUR


def test_currency_by_code():
    assert Money("5", "usd").currency is USD


def test_too_many_digits():
    with pytest.raises(ValidationError) as caught:
        eur("1.005")
    assert caught.value.describe() == (
        "validation: amount has too many digits (amount=1.005, currency=EUR)"
    )


def test_zero():
    assert Money.zero("JPY") == Money(0, JPY)
    assert Money.zero(EUR).is_zero


def test_from_minor_and_back():
    assert Money.from_minor(1234, EUR) == eur("12.34")
    assert Money.from_minor(1234, JPY) == Money("1234", JPY)
    assert eur("-12.34").minor_units == -1234


def test_rounded_is_half_up_by_default():
    assert Money.rounded(Decimal("0.125"), EUR) == eur("0.13")
    assert Money.rounded(Decimal("0.129"), EUR, ROUND_DOWN) == eur("0.12")


def test_parse_with_a_code():
    assert Money.parse("1,200.00 EUR") == eur("1200")


def test_parse_with_a_default():
    assert Money.parse("-3", EUR) == eur("-3")


@pytest.mark.parametrize("text", ["", "12", "12 EUR now"])
def test_parse_refuses(text):
    with pytest.raises(ParseError, match="expected an amount"):
        Money.parse(text)


def test_parse_refuses_nothing_in_spite_of_a_default():
    with pytest.raises(ParseError):
        Money.parse("  ", EUR)


def test_signs():
    assert [eur("1").is_positive, eur("0").is_positive, eur("-1").is_positive] == [True, False, False]
    assert [eur("1").is_negative, eur("0").is_negative, eur("-1").is_negative] == [False, False, True]
    assert [eur("1").is_zero, eur("0").is_zero] == [False, True]


def test_truth():
    assert bool(eur("0.01")) is True
    assert bool(eur("0")) is False


def test_add_and_subtract():
    assert eur("1.10") + eur("2.20") == eur("3.30")
    assert eur("1.10") - eur("2.20") == eur("-1.10")


def test_mixed_currencies():
    for operation in ("__add__", "__sub__", "__lt__", "__le__", "__gt__", "__ge__", "ratio_to"):
        with pytest.raises(CurrencyError) as caught:
            getattr(eur("1"), operation)(Money("1", USD))
        assert caught.value.context == {"left": EUR, "right": USD}


def test_add_to_something_else():
    with pytest.raises(TypeError):
        eur("1") + 1
    with pytest.raises(TypeError):
        eur("1") - 1


def test_multiply_rounds_half_to_even():
    assert eur("0.25") * "0.5" == eur("0.12")
    assert 3 * eur("1.50") == eur("4.50")


def test_multiply_by_money():
    with pytest.raises(TypeError):
        eur("2") * eur("2")


def test_negate_and_abs():
    assert -eur("2") == eur("-2")
    assert abs(eur("-2")) == eur("2")


def test_equality():
    assert eur("1") == eur("1.00")
    assert eur("1") != Money("1", USD)
    assert eur("1") != eur("2")
    assert eur("1") != "1.00 EUR"


def test_hash_agrees_with_equality():
    assert hash(eur("1")) == hash(eur("1.00"))
    assert len({eur("1"), eur("1.00"), Money("1", USD)}) == 2


def test_order():
    assert eur("1") < eur("2")
    assert not eur("1") < eur("1")
    assert eur("1") <= eur("1")
    assert not eur("2") <= eur("1")
    assert eur("2") > eur("1")
    assert not eur("1") > eur("1")
    assert eur("1") >= eur("1")
    assert not eur("1") >= eur("2")


def test_text_forms():
    assert str(eur("1234.5")) == "1234.50 EUR"
    assert repr(eur("1234.5")) == "Money('1234.50', 'EUR')"


def test_ratio():
    assert eur("1").ratio_to(eur("4")) == Decimal("0.25")


def test_ratio_to_zero():
    with pytest.raises(ValidationError, match="divide by a zero"):
        eur("1").ratio_to(eur("0"))


def test_allocate_loses_nothing():
    assert eur("10").allocate([1, 1, 1]) == [eur("3.34"), eur("3.33"), eur("3.33")]


def test_allocate_by_weights():
    assert eur("0.05").allocate([3, 7]) == [eur("0.02"), eur("0.03")]


def test_allocate_skips_weightless_shares():
    assert eur("0.05").allocate([0, 1, 1]) == [eur("0"), eur("0.03"), eur("0.02")]


def test_allocate_a_negative_amount():
    assert eur("-10").allocate([1, 1, 1]) == [eur("-3.34"), eur("-3.33"), eur("-3.33")]


@pytest.mark.parametrize("weights", [[0, 0], [2, -1]])
def test_allocate_refuses_bad_weights(weights):
    with pytest.raises(ValidationError, match="weights"):
        eur("1").allocate(weights)


def test_split():
    assert Money("5", JPY).split(2) == [Money("3", JPY), Money("2", JPY)]


def test_split_into_nothing():
    with pytest.raises(ValidationError, match="fewer than one"):
        eur("1").split(0)


def test_dict_round_trip():
    assert eur("1.5").to_dict() == {"amount": "1.50", "currency": "EUR"}
    assert Money.from_dict({"amount": "1.50", "currency": "EUR"}) == eur("1.5")


def test_sum_money():
    assert sum_money([eur("1"), eur("2.5")], EUR) == eur("3.50")
    assert sum_money([], EUR) == eur("0")
