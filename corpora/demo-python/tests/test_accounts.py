from datetime import date

import pytest

from ledgerline.accounts import (
    Account,
    AccountType,
    Chart,
    ancestors,
    is_within,
    normalize_name,
    parent_name,
)
from ledgerline.currency import EUR, USD
from ledgerline.errors import AccountError, DuplicateError, ParseError


@pytest.fixture
def chart():
    return Chart(
        [
            Account("income:sales"),
            Account("assets"),
            Account("assets:bank", EUR),
            Account("assets:bank:savings"),
            Account("assets:cash"),
        ]
    )


def test_type_of_name():
    assert AccountType.of_name("assets:bank") is AccountType.ASSET
    assert AccountType.of_name("equity") is AccountType.EQUITY


def test_type_of_unknown_root():
    with pytest.raises(AccountError) as caught:
        AccountType.of_name("stuff:bank")
    assert caught.value.context == {"name": "stuff:bank"}


def test_debit_normal_types():
    assert [kind.name for kind in AccountType if kind.is_debit_normal] == ["ASSET", "EXPENSE"]


def test_temporary_types():
    assert [kind.name for kind in AccountType if kind.is_temporary] == ["INCOME", "EXPENSE"]


def test_signs():
    assert [kind.sign for kind in AccountType] == [1, -1, -1, -1, 1]


def test_normalize_name():
    assert normalize_name("  Assets:My-Bank_2 ") == "assets:my-bank_2"


@pytest.mark.parametrize("text", ["", "assets:", ":bank", "assets::bank", "assets:my bank", "a:-b"])
def test_normalize_name_refuses(text):
    with pytest.raises(ParseError, match="bad account name") as caught:
        normalize_name(text)
    assert caught.value.context == {"name": text}


def test_parent_name():
    assert parent_name("assets:bank:giro") == "assets:bank"
    assert parent_name("assets") is None


def test_ancestors_nearest_first():
    assert ancestors("assets:bank:giro") == ["assets:bank", "assets"]
    assert ancestors("assets") == []


def test_is_within():
    assert is_within("assets:bank", "assets")
    assert is_within("assets", "assets")
    assert not is_within("assets", "assets:bank")
    assert not is_within("assets:banking", "assets:bank")


def test_account_needs_a_known_root():
    with pytest.raises(AccountError):
        Account("bank")


def test_parse_account():
    assert Account.parse("Assets:Bank") == Account("assets:bank")
    assert Account.parse("assets:bank eur") == Account("assets:bank", EUR)


@pytest.mark.parametrize("text", ["", "assets:bank EUR USD"])
def test_parse_account_refuses(text):
    with pytest.raises(ParseError, match="expected an account"):
        Account.parse(text)


def test_account_properties():
    account = Account("assets:bank:giro")
    assert account.type is AccountType.ASSET
    assert account.leaf == "giro"
    assert account.depth == 2


def test_is_open():
    account = Account("assets:bank", closed_on=date(2024, 6, 1))
    assert account.is_open(date(2024, 5, 31))
    assert not account.is_open(date(2024, 6, 1))
    assert Account("assets:bank").is_open(date(2999, 1, 1))


def test_accepts():
    assert Account("assets:bank").accepts(USD)
    assert Account("assets:bank", EUR).accepts(EUR)
    assert not Account("assets:bank", EUR).accepts(USD)


def test_account_dict_round_trip():
    account = Account("assets:bank", EUR, date(2024, 6, 1))
    data = account.to_dict()
    assert data == {"name": "assets:bank", "currency": "EUR", "closed_on": "2024-06-01"}
    assert Account.from_dict(data) == account


def test_account_dict_leaves_out_what_is_unset():
    assert Account("assets").to_dict() == {"name": "assets"}
    assert Account.from_dict({"name": "Assets"}) == Account("assets")


def test_chart_iterates_in_order(chart):
    assert [account.name for account in chart] == [
        "assets",
        "assets:bank",
        "assets:bank:savings",
        "assets:cash",
        "income:sales",
    ]
    assert len(chart) == 5


def test_chart_add_returns_the_account(chart):
    account = Account("equity:opening")
    assert chart.add(account) is account
    assert "equity:opening" in chart


def test_chart_refuses_duplicates(chart):
    with pytest.raises(DuplicateError, match="exists already"):
        chart.add(Account("assets:bank"))


def test_chart_get_unknown(chart):
    assert "assets:gold" not in chart
    with pytest.raises(AccountError, match="unknown account"):
        chart.get("assets:gold")


def test_chart_children(chart):
    assert [account.name for account in chart.children("assets")] == ["assets:bank", "assets:cash"]


def test_chart_of_type(chart):
    assert [account.name for account in chart.of_type(AccountType.INCOME)] == ["income:sales"]


def test_close_account(chart):
    closed = chart.close("assets:bank", date(2024, 6, 1))
    assert closed == Account("assets:bank", EUR, date(2024, 6, 1))
    assert chart.get("assets:bank") is closed


def test_close_twice(chart):
    chart.close("assets:cash", date(2024, 6, 1))
    with pytest.raises(AccountError, match="closed already"):
        chart.close("assets:cash", date(2024, 7, 1))


def test_check_returns_the_account(chart):
    assert chart.check("assets:bank", EUR, date(2024, 1, 1)).name == "assets:bank"


def test_check_refuses_closed_accounts(chart):
    chart.close("assets:cash", date(2024, 6, 1))
    with pytest.raises(AccountError, match="account is closed") as caught:
        chart.check("assets:cash", EUR, date(2024, 6, 2))
    assert caught.value.context == {"name": "assets:cash", "day": "2024-06-02"}


def test_check_refuses_other_currencies(chart):
    with pytest.raises(AccountError, match="another currency"):
        chart.check("assets:bank", USD, date(2024, 1, 1))
