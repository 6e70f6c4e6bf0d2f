from decimal import Decimal

import pytest

from ledgerline.currency import EUR
from ledgerline.errors import DuplicateError, NotFoundError, ParseError, ValidationError
from ledgerline.money import Money
from ledgerline.tax import (
    FlatTax,
    TaxAmount,
    TaxTable,
    TieredTax,
    format_percent,
    parse_percent,
    rule_from_dict,
)


def eur(text):
    return Money(text, EUR)


@pytest.fixture
def vat():
    return FlatTax("vat", Decimal("0.19"))


@pytest.fixture
def tiered():
    return TieredTax(
        "income",
        [
            (Decimal(1000), Decimal("0.10")),
            (Decimal(2000), Decimal("0.20")),
            (Decimal(5000), Decimal("0.40")),
        ],
    )


@pytest.mark.parametrize(
    "text, expected", [("19%", "0.19"), (" 7.5 ", "0.075"), ("0%", "0"), ("100%", "1")]
)
def test_parse_percent(text, expected):
    assert parse_percent(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["101%", "-1%"])
def test_parse_percent_out_of_range(text):
    with pytest.raises(ValidationError, match="out of range"):
        parse_percent(text)


@pytest.mark.parametrize(
    "factor, expected", [("0.19", "19%"), ("0.075", "7.5%"), ("1", "100%"), ("0", "0%")]
)
def test_format_percent(factor, expected):
    assert format_percent(Decimal(factor)) == expected


def test_tax_amount():
    amount = TaxAmount(eur("100"), eur("19")) + TaxAmount(eur("1"), eur("0.07"))
    assert amount == TaxAmount(eur("101"), eur("19.07"))
    assert amount.gross == eur("120.07")


def test_tax_amount_to_dict():
    assert TaxAmount(eur("100"), eur("19")).to_dict() == {
        "net": {"amount": "100.00", "currency": "EUR"},
        "tax": {"amount": "19.00", "currency": "EUR"},
        "gross": {"amount": "119.00", "currency": "EUR"},
    }


def test_flat_tax_rounds_half_up(vat):
    assert vat.tax_on(eur("0.50")) == eur("0.10")
    assert vat.tax_on(eur("99.99")) == eur("19.00")


def test_apply(vat):
    assert vat.apply(eur("100")) == TaxAmount(eur("100"), eur("19"))


def test_apply_to_a_credit(vat):
    assert vat.apply(eur("-0.50")) == TaxAmount(eur("-0.50"), eur("-0.10"))


def test_extract_from_gross(vat):
    assert vat.extract(eur("119")) == TaxAmount(eur("100"), eur("19"))
    assert vat.extract(eur("10")) == TaxAmount(eur("8.40"), eur("1.60"))


def test_negative_rate():
    with pytest.raises(ValidationError, match="negative"):
        FlatTax("x", Decimal("-0.01"))


def test_rule_needs_a_name():
    with pytest.raises(ValidationError, match="needs a name"):
        FlatTax(" ", Decimal(0))


def test_rule_repr(vat, tiered):
    assert repr(vat) == "FlatTax('vat')"
    assert repr(tiered) == "TieredTax('income')"


@pytest.mark.parametrize(
    "net, expected",
    [("500", "0"), ("1000", "0"), ("1500", "50"), ("2000", "100"), ("4000", "500"), ("6000", "1100")],
)
def test_tiered_tax(tiered, net, expected):
    assert tiered.tax_on(eur(net)) == eur(expected)


def test_tiered_tax_needs_a_tier():
    with pytest.raises(ValidationError, match="needs a tier"):
        TieredTax("x", [])


@pytest.mark.parametrize("lows", [(2, 1), (1, 1)])
def test_tiers_must_rise(lows):
    with pytest.raises(ValidationError, match="must rise"):
        TieredTax("x", [(Decimal(low), Decimal("0.1")) for low in lows])


def test_flat_dict_round_trip(vat):
    data = vat.to_dict()
    assert data == {"kind": "flat", "name": "vat", "rate": "19%"}
    rule = rule_from_dict(data)
    assert isinstance(rule, FlatTax)
    assert (rule.name, rule.rate) == ("vat", Decimal("0.19"))


def test_tiered_dict_round_trip(tiered):
    data = tiered.to_dict()
    assert data == {
        "kind": "tiered",
        "name": "income",
        "tiers": [["1000", "10%"], ["2000", "20%"], ["5000", "40%"]],
    }
    rule = rule_from_dict(data)
    assert isinstance(rule, TieredTax)
    assert (rule.name, rule.tiers) == ("income", tiered.tiers)


def test_unknown_kind():
    with pytest.raises(ParseError, match="unknown kind"):
        rule_from_dict({"kind": "poll", "name": "x"})


def test_table(vat, tiered):
    table = TaxTable([vat, tiered])
    assert table.get("vat") is vat
    assert [rule.name for rule in table] == ["income", "vat"]
    assert len(table) == 2


def test_table_add_returns_the_rule(vat):
    assert TaxTable().add(vat) is vat


def test_table_refuses_duplicates(vat):
    with pytest.raises(DuplicateError):
        TaxTable([vat, FlatTax("vat", Decimal(0))])


def test_table_unknown_rule():
    with pytest.raises(NotFoundError, match="unknown tax rule"):
        TaxTable().get("vat")
