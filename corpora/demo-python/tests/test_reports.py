from datetime import date

import pytest

from ledgerline.balances import Balance, BalanceSheet
from ledgerline.budget import BudgetStatus
from ledgerline.currency import EUR, USD
from ledgerline.dates import Period
from ledgerline.formatting import ACCOUNTING, ENGLISH
from ledgerline.money import Money
from ledgerline.reports import (
    IncomeStatement,
    RegisterRow,
    TrialBalance,
    TrialBalanceRow,
    monthly_statements,
    register,
    render_budget,
    render_register,
    render_tree,
)
from ledgerline.transactions import Posting


def eur(text):
    return Money(text, EUR)


@pytest.fixture
def trial(books):
    return TrialBalance.of(BalanceSheet.of(books), EUR)


@pytest.fixture
def statement(books):
    return IncomeStatement.of(books, Period.month(2024, 1))


def test_trial_balance_rows(trial):
    zero = eur("0")
    assert trial.rows == (
        TrialBalanceRow("assets:bank", eur("1300.50"), zero),
        TrialBalanceRow("assets:cash", zero, eur("45.20")),
        TrialBalanceRow("expenses:food:home", eur("45.20"), zero),
        TrialBalanceRow("expenses:rent", eur("1200"), zero),
        TrialBalanceRow("income:salary", zero, eur("2500.50")),
    )


def test_trial_balance_totals(trial):
    assert trial.debit_total == eur("2545.70")
    assert trial.credit_total == eur("2545.70")
    assert trial.is_balanced is True


def test_trial_balance_off_balance(books):
    sheet = BalanceSheet.of(books)
    sheet.post(Posting("assets:cash", eur("1")))
    assert TrialBalance.of(sheet, EUR).is_balanced is False


def test_trial_balance_of_another_currency(books):
    assert TrialBalance.of(BalanceSheet.of(books), USD).rows == ()


def test_trial_balance_render(trial):
    assert trial.render(ENGLISH) == (
        "Account                 Debit     Credit\n"
        "------------------  ---------  ---------\n"
        "assets:bank         \u20ac1,300.50\n"
        "assets:cash                       \u20ac45.20\n"
        "expenses:food:home     \u20ac45.20\n"
        "expenses:rent       \u20ac1,200.00\n"
        "income:salary                  \u20ac2,500.50\n"
        "Total               \u20ac2,545.70  \u20ac2,545.70"
    )


def test_income_statement(statement):
    assert statement.income == Balance([eur("2500.50")])
    assert statement.expenses == Balance([eur("1200")])
    assert statement.result == Balance([eur("1300.50")])


def test_income_statement_to_dict(statement):
    assert statement.to_dict() == {
        "period": {"start": "2024-01-01", "end": "2024-01-31"},
        "income": {"EUR": "2500.50"},
        "expenses": {"EUR": "1200.00"},
        "result": {"EUR": "1300.50"},
    }


def test_income_statement_render(books):
    statement = IncomeStatement.of(books, Period.month(2024, 2))
    assert statement.render(ACCOUNTING) == (
        "Item      2024-02-01..2024-02-29\n"
        "--------  ----------------------\n"
        "Income                         -\n"
        "Expenses               45.20 EUR\n"
        "Result               (45.20 EUR)"
    )


def test_monthly_statements(books):
    statements = monthly_statements(books, Period.quarter(2024, 1))
    assert [str(statement.result) for statement in statements] == ["1300.50 EUR", "-45.20 EUR", "0"]


def test_register_of_the_whole_period(books):
    opening, rows = register(reversed(books), "assets", Period.year(2024))
    assert opening.is_zero
    assert rows == [
        RegisterRow(date(2024, 1, 5), "Landlord", eur("-1200"), Balance([eur("-1200")])),
        RegisterRow(date(2024, 1, 31), "Employer", eur("2500.50"), Balance([eur("1300.50")])),
        RegisterRow(date(2024, 2, 3), "Corner shop", eur("-45.20"), Balance([eur("1255.30")])),
    ]


def test_register_with_an_opening_balance(books):
    opening, rows = register(books, "assets", Period.parse("2024-01-06..2024-01-31"))
    assert opening == Balance([eur("-1200")])
    assert [(row.payee, row.balance) for row in rows] == [("Employer", Balance([eur("1300.50")]))]


def test_register_on_the_first_day(books):
    opening, rows = register(books, "assets:bank", Period.parse("2024-01-05..2024-01-05"))
    assert opening.is_zero
    assert [row.amount for row in rows] == [eur("-1200")]


def test_render_register():
    rows = [
        RegisterRow(
            date(2024, 1, 5), "A landlord with a long name", eur("-5"), Balance([eur("-3")])
        )
    ]
    assert render_register(Balance([eur("2")]), rows) == (
        "Date        Payee                        Amount    Balance\n"
        "----------  ------------------------  ---------  ---------\n"
        "            Opening balance                       2.00 EUR\n"
        "2024-01-05  A landlord with a lon...  -5.00 EUR  -3.00 EUR"
    )


def test_render_tree(rent):
    assert render_tree(BalanceSheet.of([rent])) == (
        "Account        Balance\n"
        "--------  ------------\n"
        "assets    -1200.00 EUR\n"
        "  bank    -1200.00 EUR\n"
        "expenses   1200.00 EUR\n"
        "  rent     1200.00 EUR"
    )


def test_render_budget():
    status = BudgetStatus("expenses:food", eur("30"), eur("10"))
    assert render_budget([status]) == (
        "Account            Limit      Spent   Used  Level\n"
        "-------------  ---------  ---------  -----  -----\n"
        "expenses:food  30.00 EUR  10.00 EUR  33.3%  ok"
    )
