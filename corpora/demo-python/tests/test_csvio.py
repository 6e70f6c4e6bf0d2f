import io
from datetime import date

import pytest

from ledgerline.csvio import (
    ColumnMap,
    ImportResult,
    ImportRules,
    StatementImporter,
    export_rows,
    write_csv,
)
from ledgerline.currency import EUR
from ledgerline.errors import ParseError
from ledgerline.money import Money
from ledgerline.transactions import Posting


@pytest.fixture
def rules():
    rules = ImportRules()
    rules.add("Landlord", "expenses:rent")
    rules.add("lord", "expenses:tithe")
    return rules


@pytest.fixture
def importer(rules):
    return StatementImporter("assets:bank", EUR, rules)


def test_columns_are_required():
    with pytest.raises(ParseError) as caught:
        ColumnMap(payee="name").require(["date", "text"])
    assert caught.value.describe() == "line 1: parse: columns are missing (columns=name amount)"


def test_columns_present():
    assert ColumnMap().require(["amount", "payee", "date", "more"]) is None


def test_first_rule_wins(rules):
    assert rules.account_for("MY LANDLORD Ltd") == "expenses:rent"
    assert rules.account_for("Lord Vader") == "expenses:tithe"


def test_fallback_account(rules):
    assert rules.account_for("Shop") == "expenses:unknown"


def test_rule_needs_a_pattern(rules):
    with pytest.raises(ParseError, match="must not be empty"):
        rules.add(" ", "expenses:rent")
    assert len(rules.patterns) == 2


def test_read_statement(importer):
    text = 'date,payee,amount\n2024-01-05, Landlord ,"-1,200.00"\n2024-01-06,Shop,3\n'
    result = importer.read(io.StringIO(text))
    first, second = result.transactions
    assert (first.date, first.payee) == (date(2024, 1, 5), "Landlord")
    assert first.postings == (
        Posting("assets:bank", Money(-1200, EUR)),
        Posting("expenses:rent", Money(1200, EUR)),
    )
    assert second.accounts == ["assets:bank", "expenses:unknown"]
    assert result.is_clean
    assert result.summary() == "2 imported, 0 failed"


def test_bad_lines_do_not_stop_the_others(importer):
    text = "date,payee,amount\nsoon,Shop,1\n2024-01-06,Shop,2\n2024-01-07,Shop,0.005\n2024-01-08,,1\n"
    result = importer.read(io.StringIO(text))
    assert [item.date for item in result.transactions] == [date(2024, 1, 6)]
    assert [(error.line, error.message) for error in result.errors] == [
        (2, "not a date"),
        (4, "amount has too many digits"),
        (5, "transaction needs a payee"),
    ]
    assert not result.is_clean
    assert result.summary() == "1 imported, 3 failed"


def test_short_lines_are_errors(importer):
    result = importer.read(io.StringIO("date,payee,amount\n2024-01-06\n"))
    assert [(error.line, error.message) for error in result.errors] == [(2, "not a number")]


def test_errors_keep_their_context(importer):
    result = importer.read(io.StringIO("date,payee,amount\n2024-01-06,Shop,1.005\n"))
    assert str(result.errors[0].context["currency"]) == "EUR"


def test_other_column_names(rules):
    columns = ColumnMap(date="Tag", payee="Wer", amount="Betrag")
    importer = StatementImporter("assets:giro", EUR, rules, columns)
    result = importer.read(io.StringIO("Betrag,Wer,Tag\n5,Shop,2024-01-01\n"))
    assert result.transactions[0].postings[0] == Posting("assets:giro", Money(5, EUR))


def test_empty_statement(importer):
    with pytest.raises(ParseError, match="columns are missing"):
        importer.read(io.StringIO(""))


def test_empty_result():
    assert ImportResult().is_clean
    assert ImportResult().summary() == "0 imported, 0 failed"


def test_export_rows(salary):
    rows = export_rows([salary.with_key("k1")])
    assert rows[1] == {
        "key": "k1",
        "date": "2024-01-31",
        "payee": "Employer",
        "account": "income:salary",
        "amount": "-2500.50",
        "currency": "EUR",
        "tags": "work",
    }
    assert len(rows) == 2


def test_write_csv(rent):
    stream = io.StringIO()
    assert write_csv([rent], stream) == 2
    assert stream.getvalue() == (
        "key,date,payee,account,amount,currency,tags\n"
        ",2024-01-05,Landlord,expenses:rent,1200.00,EUR,\n"
        ",2024-01-05,Landlord,assets:bank,-1200.00,EUR,\n"
    )
