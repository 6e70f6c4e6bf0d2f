import pytest

from ledgerline.balances import Balance, BalanceSheet
from ledgerline.currency import EUR, USD
from ledgerline.dates import Period
from ledgerline.money import Money
from ledgerline.transactions import Posting


@pytest.fixture
def mixed():
    return Balance([Money(5, USD), Money(3, EUR), Money("1.50", EUR)])


@pytest.fixture
def sheet(books):
    return BalanceSheet.of(books)


def test_balance_sums_by_currency(mixed):
    assert mixed.get(EUR) == Money("4.50", EUR)
    assert mixed.get(USD) == Money(5, USD)
    assert mixed.currencies == [EUR, USD]
    assert len(mixed) == 2


def test_zero_sums_are_dropped(mixed):
    mixed.add(Money(-5, USD))
    assert mixed.currencies == [EUR]
    assert mixed.get(USD) == Money(0, USD)


def test_is_zero():
    assert Balance().is_zero
    assert Balance([Money(0, EUR)]).is_zero
    assert not Balance([Money(1, EUR)]).is_zero


def test_copy_is_independent(mixed):
    copy = mixed.copy()
    copy.add(Money(1, EUR))
    assert mixed.get(EUR) == Money("4.50", EUR)
    assert copy.get(EUR) == Money("5.50", EUR)


def test_balance_addition_leaves_operands_alone(mixed):
    other = Balance([Money(-5, USD), Money(1, EUR)])
    assert mixed + other == Balance([Money("5.50", EUR)])
    assert mixed.get(USD) == Money(5, USD)


def test_negation_and_scaling(mixed):
    assert -mixed == Balance([Money(-5, USD), Money("-4.50", EUR)])
    assert mixed.scaled(2).get(EUR) == Money(9, EUR)


def test_balance_equality(mixed):
    assert mixed != Balance([Money(5, USD)])
    assert mixed != 4.5


def test_balance_text(mixed):
    assert str(mixed) == "4.50 EUR, 5.00 USD"
    assert str(Balance()) == "0"
    assert repr(mixed) == "Balance([Money('4.50', 'EUR'), Money('5.00', 'USD')])"


def test_balance_dict_round_trip(mixed):
    data = mixed.to_dict()
    assert data == {"EUR": "4.50", "USD": "5.00"}
    assert Balance.from_dict(data) == mixed


def test_own_balances(sheet):
    assert sheet.own("assets:bank") == Balance([Money("1300.50", EUR)])
    assert sheet.own("assets").is_zero
    assert sheet.own("expenses:food").is_zero


def test_own_returns_a_copy(sheet):
    sheet.own("assets:bank").add(Money(1, EUR))
    assert sheet.own("assets:bank").get(EUR) == Money("1300.50", EUR)


def test_total_includes_children(sheet):
    assert sheet.total("assets") == Balance([Money("1255.30", EUR)])
    assert sheet.total("expenses:food") == Balance([Money("45.20", EUR)])
    assert sheet.total("equity").is_zero


def test_natural_sign(sheet):
    assert sheet.natural("income") == Balance([Money("2500.50", EUR)])
    assert sheet.natural("expenses") == Balance([Money("1245.20", EUR)])


def test_accounts_without_balance_are_left_out(sheet):
    sheet.post(Posting("assets:cash", Money("45.20", EUR)))
    assert sheet.accounts() == [
        "assets:bank",
        "expenses:food:home",
        "expenses:rent",
        "income:salary",
    ]


def test_tree_adds_ancestors(sheet):
    assert [(name, str(total)) for name, total in sheet.tree()] == [
        ("assets", "1255.30 EUR"),
        ("assets:bank", "1300.50 EUR"),
        ("assets:cash", "-45.20 EUR"),
        ("expenses", "1245.20 EUR"),
        ("expenses:food", "45.20 EUR"),
        ("expenses:food:home", "45.20 EUR"),
        ("expenses:rent", "1200.00 EUR"),
        ("income", "-2500.50 EUR"),
        ("income:salary", "-2500.50 EUR"),
    ]


def test_sheet_of_a_period(books):
    sheet = BalanceSheet.of(books, Period.month(2024, 2))
    assert sheet.accounts() == ["assets:cash", "expenses:food:home"]


def test_sheet_is_balanced(sheet):
    assert sheet.is_balanced()
    sheet.post(Posting("assets:cash", Money(1, EUR)))
    assert not sheet.is_balanced()
