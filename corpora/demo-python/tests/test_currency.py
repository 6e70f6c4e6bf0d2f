from decimal import ROUND_UP, Decimal

import pytest

from ledgerline.currency import EUR, JPY, KWD, REGISTRY, Currency, CurrencyRegistry, get_currency
from ledgerline.errors import CurrencyError, DuplicateError


def test_quantum_follows_the_digits():
    assert EUR.quantum == Decimal("0.01")
    assert JPY.quantum == Decimal("1")
    assert KWD.quantum == Decimal("0.001")


def test_minor_per_major():
    assert [EUR.minor_per_major, JPY.minor_per_major, KWD.minor_per_major] == [100, 1, 1000]


def test_quantize_rounds_half_to_even():
    assert EUR.quantize(Decimal("1.125")) == Decimal("1.12")
    assert EUR.quantize(Decimal("1.135")) == Decimal("1.14")


def test_quantize_with_another_rounding():
    assert EUR.quantize(Decimal("1.121"), ROUND_UP) == Decimal("1.13")


def test_is_exact():
    assert EUR.is_exact(Decimal("1.25")) is True
    assert EUR.is_exact(Decimal("1.255")) is False


@pytest.mark.parametrize("code", ["EU", "EURO", "eur", "E1R", ""])
def test_bad_codes_are_refused(code):
    with pytest.raises(CurrencyError) as caught:
        Currency(code)
    assert caught.value.context == {"code": code}


@pytest.mark.parametrize("digits", [-1, 9])
def test_digits_out_of_range_are_refused(digits):
    with pytest.raises(CurrencyError, match="digits out of range"):
        Currency("ABC", digits)


def test_limits_of_the_digits():
    assert Currency("ABC", 0).digits == 0
    assert Currency("ABC", 8).digits == 8


def test_str_is_the_code():
    assert str(EUR) == "EUR"


def test_dict_round_trip():
    data = EUR.to_dict()
    assert data == {"code": "EUR", "digits": 2, "symbol": "\u20ac"}
    assert Currency.from_dict(data) == EUR


def test_from_dict_fills_in_defaults():
    assert Currency.from_dict({"code": "XYZ"}) == Currency("XYZ", 2, "")


def test_get_ignores_case_and_blanks():
    assert get_currency(" eur ") is EUR


def test_get_unknown_currency():
    with pytest.raises(CurrencyError) as caught:
        get_currency("xxx")
    assert caught.value.describe() == "currency: unknown currency (code=xxx)"


def test_registry_contains():
    assert "eur" in REGISTRY
    assert "XXX" not in REGISTRY
    assert 7 not in REGISTRY


def test_registry_iterates_in_order():
    registry = CurrencyRegistry([JPY, EUR])
    assert list(registry) == [EUR, JPY]
    assert len(registry) == 2


def test_register_returns_the_currency():
    registry = CurrencyRegistry()
    token = Currency("TKN", 4)
    assert registry.register(token) is token
    assert registry.get("tkn") is token


def test_register_equal_currency_twice():
    registry = CurrencyRegistry([EUR])
    registry.register(Currency("EUR", 2, "\u20ac"))
    assert len(registry) == 1


def test_register_conflicting_currency():
    registry = CurrencyRegistry([EUR])
    with pytest.raises(DuplicateError):
        registry.register(Currency("EUR", 3))
    assert registry.get("EUR").digits == 2
