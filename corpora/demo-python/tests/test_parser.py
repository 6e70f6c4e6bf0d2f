from datetime import date
from decimal import Decimal

import pytest

from ledgerline.accounts import Account
from ledgerline.budget import BudgetLimit
from ledgerline.currency import EUR, USD
from ledgerline.errors import AccountError, ParseError
from ledgerline.money import Money
from ledgerline.parser import (
    JournalParser,
    format_journal,
    format_transaction,
    parse_journal,
    split_tags,
    strip_comment,
)
from ledgerline.transactions import Posting

JOURNAL = """\
; the books of January
account assets:bank EUR
account expenses:rent
rate 2024-01-01 USD EUR 0.92
budget expenses:rent 1200.00 EUR

2024-01-05 * Landlord  #rent #Home   ; standing order
    expenses:rent    1,200.00 EUR
    assets:bank

2024-01-06 Refund
    assets:bank  10.00 EUR
    expenses:rent\t-10.00 EUR
"""


def fail(text):
    with pytest.raises(ParseError) as caught:
        parse_journal(text)
    return caught.value


def test_strip_comment():
    assert strip_comment("a b  ; c ; d") == "a b"
    assert strip_comment("; all") == ""
    assert strip_comment("none ") == "none"


def test_split_tags():
    assert split_tags("Corner #Food shop #a-b #food") == ("Corner shop", ("a-b", "food"))
    assert split_tags("Shop") == ("Shop", ())


def test_directives():
    journal = parse_journal(JOURNAL)
    assert list(journal.chart) == [Account("assets:bank", EUR), Account("expenses:rent")]
    assert list(journal.budget) == [BudgetLimit("expenses:rent", Money(1200, EUR))]
    assert journal.rates.factor(USD, EUR, date(2024, 1, 1)) == Decimal("0.92")


def test_transaction_header():
    first, second = parse_journal(JOURNAL).transactions
    assert (first.date, first.payee) == (date(2024, 1, 5), "Landlord")
    assert (first.tags, first.cleared) == (("home", "rent"), True)
    assert (second.payee, second.tags, second.cleared) == ("Refund", (), False)


def test_transaction_postings():
    first, second = parse_journal(JOURNAL).transactions
    assert first.postings == (
        Posting("expenses:rent", Money(1200, EUR)),
        Posting("assets:bank", Money(-1200, EUR)),
    )
    assert second.postings[1] == Posting("expenses:rent", Money(-10, EUR))


def test_default_currency():
    text = "2024-01-01 Shop\n  expenses:food  5\n  assets:cash  -5\n"
    (transaction,) = parse_journal(text, EUR).transactions
    assert transaction.postings[0].amount == Money(5, EUR)


def test_transactions_need_no_blank_line_between():
    text = (
        "2024-01-01 One\n  assets:cash  1 EUR\n  equity\n"
        "2024-01-02 Two\n  assets:cash  2 EUR\n  equity\n"
        "account assets:cash\naccount equity\n"
    )
    journal = parse_journal(text)
    assert [transaction.payee for transaction in journal.transactions] == ["One", "Two"]
    assert len(journal.chart) == 2


def test_amount_left_out_closes_several_postings():
    text = "2024-01-01 Shop\n  expenses:a  1.10 EUR\n  expenses:b  2.20 EUR\n  assets:cash\n"
    (transaction,) = parse_journal(text).transactions
    assert transaction.postings[2].amount == Money("-3.30", EUR)


def test_empty_journal():
    journal = parse_journal("")
    assert journal.transactions == []
    assert len(journal.chart) == 0


def test_parser_can_be_used_again():
    parser = JournalParser()
    first = parser.parse("account assets:bank\n")
    second = parser.parse("account assets:bank\n")
    assert first is not second
    assert len(second.chart) == 1


def test_parser_forgets_a_draft_after_an_error():
    parser = JournalParser()
    with pytest.raises(ParseError):
        parser.parse("2024-01-01 Shop\n  expenses:food  x EUR\n")
    assert parser.parse("\n").transactions == []


def test_unchecked_without_a_chart():
    text = "2024-01-01 Shop\n  expenses:food  5 EUR\n  assets:cash\n"
    assert len(parse_journal(text).transactions) == 1


def test_undeclared_account():
    text = "account assets:cash\n\n2024-01-01 Shop\n  expenses:food  5 EUR\n  assets:cash\n"
    with pytest.raises(AccountError, match="unknown account"):
        parse_journal(text)


def test_unknown_directive():
    error = fail("\nfrobnicate now\n")
    assert error.describe() == "line 2: parse: unknown directive (word=frobnicate)"


def test_posting_outside_of_a_transaction():
    error = fail("account assets:cash\n  assets:cash  1 EUR\n")
    assert (error.line, error.message) == (2, "posting outside of a transaction")


@pytest.mark.parametrize("between", ["", "account assets:cash"])
def test_transaction_ends_at_blank_lines_and_directives(between):
    text = f"2024-01-01 Shop\n  assets:cash  1 EUR\n  equity\n{between}\n  equity  1 EUR\n"
    error = fail(text)
    assert (error.line, error.message) == (5, "posting outside of a transaction")


@pytest.mark.parametrize("header", ["2024-01-05", "2024-01-05 *", "2024-01-05 #tag"])
def test_missing_payee(header):
    error = fail(f"{header}\n  assets:cash  1 EUR\n  equity\n")
    assert (error.line, error.message) == (1, "transaction needs a payee")


def test_bad_date():
    error = fail("2024-02-30 Shop\n")
    assert (error.line, error.message) == (1, "no such day")


def test_bad_amount():
    error = fail("2024-01-01 Shop\n  expenses:food  5,0 EUR\n  assets:cash\n")
    assert (error.line, error.message) == (2, "not a number")


def test_other_errors_get_a_line_too():
    error = fail("2024-01-01 Shop\n  expenses:food  5 XXX\n  assets:cash\n")
    assert error.describe() == "line 2: parse: unknown currency (code=XXX)"


def test_two_amounts_left_out():
    error = fail("\n2024-01-01 Shop\n  expenses:food\n  assets:cash\n")
    assert (error.line, error.message) == (2, "only one posting may leave out its amount")


def test_amount_left_out_in_two_currencies():
    error = fail("2024-01-01 Shop\n  expenses:a  1 EUR\n  expenses:b  1 USD\n  assets:cash\n")
    assert (error.line, error.message) == (1, "cannot infer the amount left out")


def test_unbalanced_transaction_points_at_its_header():
    error = fail("\n\n2024-01-01 Shop\n  expenses:food  5 EUR\n  assets:cash  -4 EUR\n")
    assert error.line == 3
    assert error.message == "postings do not add up to zero"
    assert error.context["payee"] == "Shop"


def test_format_transaction(salary):
    assert format_transaction(salary) == (
        "2024-01-31 * Employer #work\n"
        "    assets:bank    2500.50 EUR\n"
        "    income:salary  -2500.50 EUR"
    )


def test_format_plain_transaction(rent):
    assert format_transaction(rent).splitlines()[0] == "2024-01-05 Landlord"


def test_format_journal_round_trip(books):
    text = format_journal(books)
    assert text.count("\n\n") == 2
    assert text.endswith("EUR\n")
    again = parse_journal(text).transactions
    assert [(item.date, item.payee, item.tags, item.cleared) for item in again] == [
        (item.date, item.payee, item.tags, item.cleared) for item in books
    ]
    assert again[0].postings == books[0].postings


def test_format_empty_journal():
    assert format_journal([]) == ""
