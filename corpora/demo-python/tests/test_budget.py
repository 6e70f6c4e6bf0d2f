from decimal import Decimal

import pytest

from ledgerline.budget import Budget, BudgetLimit, BudgetStatus
from ledgerline.currency import EUR
from ledgerline.dates import Period
from ledgerline.errors import AccountError, DuplicateError, ParseError, ValidationError
from ledgerline.money import Money


def eur(text):
    return Money(text, EUR)


@pytest.fixture
def budget():
    return Budget(
        [BudgetLimit("expenses:rent", eur("1200")), BudgetLimit("expenses:food", eur("40"))]
    )


def test_parse_limit():
    assert BudgetLimit.parse("Expenses:Rent 1,200.00 EUR") == BudgetLimit("expenses:rent", eur("1200"))


def test_parse_limit_refuses():
    with pytest.raises(ParseError, match="expected an account"):
        BudgetLimit.parse("expenses:rent")


def test_only_expenses_have_a_budget():
    with pytest.raises(AccountError, match="only expenses"):
        BudgetLimit("assets:bank", eur("1"))


@pytest.mark.parametrize("amount", ["0", "-1"])
def test_limit_must_be_positive(amount):
    with pytest.raises(ValidationError, match="positive"):
        BudgetLimit("expenses:rent", eur(amount))


def test_limit_for_months():
    assert BudgetLimit("expenses:rent", eur("33.33")).for_months(3) == eur("99.99")


def test_limit_dict_round_trip():
    limit = BudgetLimit("expenses:rent", eur("5"))
    data = limit.to_dict()
    assert data == {"account": "expenses:rent", "monthly": {"amount": "5.00", "currency": "EUR"}}
    assert BudgetLimit.from_dict(data) == limit


@pytest.mark.parametrize(
    "spent, level",
    [("0", "ok"), ("89.99", "ok"), ("90", "warning"), ("100", "warning"), ("100.01", "exceeded")],
)
def test_status_level(spent, level):
    assert BudgetStatus("expenses", eur("100"), eur(spent)).level == level


def test_status_amounts():
    status = BudgetStatus("expenses", eur("100"), eur("125"))
    assert status.remaining == eur("-25")
    assert status.used == Decimal("1.25")
    assert status.is_exceeded is True


def test_budget_iterates_in_order(budget):
    assert [limit.account for limit in budget] == ["expenses:food", "expenses:rent"]
    assert len(budget) == 2


def test_budget_add_returns_the_limit(budget):
    limit = BudgetLimit("expenses:fun", eur("10"))
    assert budget.add(limit) is limit
    assert len(budget) == 3


def test_budget_refuses_duplicates(budget):
    with pytest.raises(DuplicateError):
        budget.add(BudgetLimit("expenses:rent", eur("1")))


def test_limit_for_takes_the_closest(budget):
    budget.add(BudgetLimit("expenses", eur("2000")))
    assert budget.limit_for("expenses:food:home").account == "expenses:food"
    assert budget.limit_for("expenses:fun").account == "expenses"


def test_limit_for_uncovered_account(budget):
    assert budget.limit_for("expenses:fun") is None


def test_status_of_a_month(budget, books):
    food, rent = budget.status(books, Period.month(2024, 2))
    assert (food.account, food.limit, food.spent) == ("expenses:food", eur("40"), eur("45.20"))
    assert (rent.account, rent.limit, rent.spent) == ("expenses:rent", eur("1200"), eur("0"))


def test_status_of_several_months(budget, books):
    food, rent = budget.status(books, Period.parse("2024-01-15..2024-02-15"))
    assert (food.limit, food.spent, food.level) == (eur("80"), eur("45.20"), "ok")
    assert (rent.limit, rent.spent) == (eur("2400"), eur("0"))
