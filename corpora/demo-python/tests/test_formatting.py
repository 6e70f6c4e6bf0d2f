from decimal import Decimal

import pytest

from ledgerline.balances import Balance
from ledgerline.currency import EUR, JPY, Currency
from ledgerline.errors import ValidationError
from ledgerline.formatting import (
    ACCOUNTING,
    ENGLISH,
    GERMAN,
    PLAIN,
    Align,
    MoneyStyle,
    Table,
    format_balance,
    get_style,
    shorten,
)
from ledgerline.money import Money


def test_align():
    assert Align.LEFT.pad("ab", 4) == "ab  "
    assert Align.RIGHT.pad("ab", 4) == "  ab"


@pytest.mark.parametrize(
    "style, expected",
    [
        (PLAIN, "-1234567.50 EUR"),
        (ENGLISH, "-\u20ac1,234,567.50"),
        (GERMAN, "-1.234.567,50 EUR"),
        (ACCOUNTING, "(1,234,567.50 EUR)"),
    ],
)
def test_styles_of_negative_amounts(style, expected):
    assert style.format(Money("-1234567.5", EUR)) == expected


def test_positive_amounts_have_no_sign():
    assert ACCOUNTING.format(Money("12", EUR)) == "12.00 EUR"
    assert ENGLISH.format(Money("1200", JPY)) == "\u00a51,200"


def test_symbol_falls_back_to_the_code():
    assert ENGLISH.format(Money("1", Currency("XAU", 3))) == "1.000 XAU"


def test_number_has_no_sign():
    assert MoneyStyle().number(Decimal("-1234.5")) == "1,234.5"


def test_get_style():
    assert get_style("german") is GERMAN


def test_get_unknown_style():
    with pytest.raises(ValidationError, match="unknown style"):
        get_style("klingon")


def test_format_balance():
    balance = Balance([Money("1", EUR), Money("1500", JPY)])
    assert format_balance(balance) == "1.00 EUR + 1500 JPY"
    assert format_balance(balance, ENGLISH) == "\u20ac1.00 + \u00a51,500"
    assert format_balance(Balance()) == "-"


def test_shorten():
    assert shorten("abcdefgh", 8) == "abcdefgh"
    assert shorten("abcdefghi", 8) == "abcde..."
    assert shorten("abcd fghi", 8) == "abcd..."


def test_shorten_needs_some_width():
    with pytest.raises(ValidationError, match="too small"):
        shorten("abc", 3)


def test_table_render():
    table = Table(["Name", "Amount"], [Align.LEFT, Align.RIGHT])
    table.add("rent", 5)
    table.add("x", "1234567")
    assert table.render() == (
        "Name   Amount\n"
        "----  -------\n"
        "rent        5\n"
        "x     1234567"
    )


def test_table_is_left_aligned_by_default():
    table = Table(["A", "B"])
    table.add("long", "x")
    assert table.aligns == [Align.LEFT, Align.LEFT]
    assert table.render() == "A     B\n----  -\nlong  x"


def test_table_widths():
    table = Table(["Name", "B"])
    assert table.widths() == [4, 1]
    table.add("x", "yyy")
    assert table.widths() == [4, 3]


def test_table_needs_matching_alignments():
    with pytest.raises(ValidationError, match="every column"):
        Table(["A", "B"], [Align.LEFT])


def test_table_needs_matching_cells():
    table = Table(["A", "B"])
    with pytest.raises(ValidationError, match="number of cells"):
        table.add("one")
    assert table.rows == []
