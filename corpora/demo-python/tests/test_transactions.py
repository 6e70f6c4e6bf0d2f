from datetime import date

import pytest

from ledgerline.accounts import Account, Chart
from ledgerline.currency import EUR, USD
from ledgerline.errors import AccountError, UnbalancedError, ValidationError
from ledgerline.money import Money
from ledgerline.transactions import Posting, Transaction, sort_transactions

DAY = date(2024, 3, 1)


def test_posting_sides():
    debit, credit = Posting("assets", Money(1, EUR)), Posting("assets", Money(-1, EUR))
    assert (debit.is_debit, debit.is_credit) == (True, False)
    assert (credit.is_debit, credit.is_credit) == (False, True)


def test_posting_reversed():
    assert Posting("assets", Money(1, EUR), "x").reversed() == Posting("assets", Money(-1, EUR), "x")


def test_posting_dict_round_trip():
    posting = Posting("assets:bank", Money("1.50", EUR), "note")
    data = posting.to_dict()
    assert data == {
        "account": "assets:bank",
        "amount": {"amount": "1.50", "currency": "EUR"},
        "memo": "note",
    }
    assert Posting.from_dict(data) == posting


def test_posting_dict_without_memo():
    data = Posting("assets", Money(1, EUR)).to_dict()
    assert "memo" not in data
    assert Posting.from_dict(data).memo == ""


def test_simple_moves_from_credit_to_debit(rent):
    assert rent.postings == (
        Posting("expenses:rent", Money("1200", EUR)),
        Posting("assets:bank", Money("-1200", EUR)),
    )
    assert rent.payee == "Landlord"
    assert rent.date == date(2024, 1, 5)


def test_payee_is_required():
    with pytest.raises(ValidationError, match="needs a payee"):
        Transaction.simple(DAY, "  ", "expenses", "assets", Money(1, EUR))


def test_two_postings_are_required():
    with pytest.raises(ValidationError, match="two postings"):
        Transaction(DAY, "Shop", (Posting("assets", Money(0, EUR)),))


def test_unbalanced_postings():
    postings = (Posting("assets", Money(5, EUR)), Posting("equity", Money(-4, EUR)))
    with pytest.raises(UnbalancedError) as caught:
        Transaction(DAY, "Shop", postings)
    assert caught.value.context == {"payee": "Shop", "currency": "EUR", "off": Money(1, EUR)}


def test_every_currency_must_balance():
    postings = (Posting("assets", Money(5, EUR)), Posting("equity", Money(-5, USD)))
    with pytest.raises(UnbalancedError):
        Transaction(DAY, "Shop", postings)


@pytest.fixture
def exchange():
    return Transaction(
        DAY,
        "Bureau",
        (
            Posting("assets:usd", Money(11, USD)),
            Posting("equity:exchange", Money(-11, USD)),
            Posting("equity:exchange", Money(10, EUR)),
            Posting("assets:bank", Money(-10, EUR)),
        ),
    )


def test_currencies_and_accounts(exchange):
    assert exchange.currencies == [EUR, USD]
    assert exchange.accounts == ["assets:usd", "equity:exchange", "assets:bank"]


def test_totals_are_zero(exchange):
    assert exchange.totals() == {"EUR": Money(0, EUR), "USD": Money(0, USD)}


def test_amounts_and_volume(exchange):
    assert exchange.amounts_in(USD) == [Money(11, USD), Money(-11, USD)]
    assert exchange.volume(EUR) == Money(10, EUR)


def test_touches(rent):
    assert rent.touches("expenses")
    assert rent.touches("assets:bank")
    assert not rent.touches("income")


def test_has_tag(salary):
    assert salary.has_tag("Work")
    assert not salary.has_tag("rent")


def test_check_against_a_chart(rent):
    chart = Chart([Account("expenses:rent"), Account("assets:bank", EUR)])
    assert rent.check(chart) is None
    with pytest.raises(AccountError):
        rent.check(Chart([Account("expenses:rent")]))


def test_reversed(salary):
    undone = salary.reversed(DAY)
    assert undone.date == DAY
    assert undone.payee == "Reversal of Employer"
    assert undone.tags == ("work",)
    assert undone.postings[0] == Posting("assets:bank", Money("-2500.50", EUR))
    assert undone.cleared is False


def test_with_key_keeps_the_rest(salary):
    stored = salary.with_key("k1")
    assert stored.key == "k1"
    assert (stored.date, stored.payee, stored.postings) == (
        salary.date,
        salary.payee,
        salary.postings,
    )
    assert (stored.tags, stored.cleared) == (("work",), True)


def test_dict_round_trip(salary):
    keyed = salary.with_key("k1")
    data = keyed.to_dict()
    assert data["date"] == "2024-01-31"
    assert data["payee"] == "Employer"
    assert data["tags"] == ["work"]
    assert data["cleared"] is True
    assert data["key"] == "k1"
    assert len(data["postings"]) == 2
    assert Transaction.from_dict(data) == keyed


def test_dict_leaves_out_defaults(rent):
    data = rent.to_dict()
    assert sorted(data) == ["date", "payee", "postings"]
    assert Transaction.from_dict(data) == rent


def test_sort_by_date_then_key_then_payee(rent, salary):
    second = rent.with_key("b")
    first = rent.with_key("a")
    assert sort_transactions([salary, second, first, rent]) == [rent, first, second, salary]
    assert rent.sort_key == (date(2024, 1, 5), "", "Landlord")
