"""Accounts: hierarchical names, account types and the chart of accounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional

from .currency import Currency, get_currency
from .dates import format_date, parse_date
from .errors import AccountError, DuplicateError, ParseError

SEPARATOR = ":"
_SEGMENT = re.compile(r"[a-z0-9][a-z0-9_-]*")


class AccountType(Enum):
    """The five classic account types; the value is the root of the name."""

    ASSET = "assets"
    LIABILITY = "liabilities"
    EQUITY = "equity"
    INCOME = "income"
    EXPENSE = "expenses"

    @property
    def is_debit_normal(self) -> bool:
        """Tell whether the balance of such accounts is usually positive."""
        return self in (AccountType.ASSET, AccountType.EXPENSE)

    @property
    def is_temporary(self) -> bool:
        """Tell whether such accounts are closed at the end of a year."""
        return self in (AccountType.INCOME, AccountType.EXPENSE)

    @property
    def sign(self) -> int:
        """The factor that turns a raw balance into the one people expect."""
        return 1 if self.is_debit_normal else -1

    @classmethod
    def of_name(cls, name: str) -> "AccountType":
        """Derive the type from the first segment of an account name."""
        root = name.split(SEPARATOR, 1)[0]
        for member in cls:
            if member.value == root:
                return member
        raise AccountError("account has no known root", name=name)


def normalize_name(text: str) -> str:
    """Check an account name and return it in lower case."""
    name = text.strip().lower()
    for segment in name.split(SEPARATOR):
        if not _SEGMENT.fullmatch(segment):
            raise ParseError("bad account name", name=text)
    return name


def parent_name(name: str) -> Optional[str]:
    """Return the name one level up, or ``None`` for a root account."""
    if SEPARATOR not in name:
        return None
    return name.rsplit(SEPARATOR, 1)[0]


def ancestors(name: str) -> List[str]:
    """Return all names above ``name``, the nearest first."""
    parts = name.split(SEPARATOR)
    return [SEPARATOR.join(parts[:size]) for size in range(len(parts) - 1, 0, -1)]


def is_within(name: str, scope: str) -> bool:
    """Tell whether ``name`` is ``scope`` itself or lies below it."""
    return name == scope or name.startswith(scope + SEPARATOR)


@dataclass(frozen=True)
class Account:
    """One account; a currency, if given, is the only one it may hold."""

    name: str
    currency: Optional[Currency] = None
    closed_on: Optional[date] = None

    def __post_init__(self) -> None:
        AccountType.of_name(self.name)

    @classmethod
    def parse(cls, text: str) -> "Account":
        """Read ``assets:bank`` or ``assets:bank EUR``."""
        words = text.split()
        if not 1 <= len(words) <= 2:
            raise ParseError("expected an account and maybe a currency", text=text)
        currency = get_currency(words[1]) if len(words) == 2 else None
        return cls(normalize_name(words[0]), currency)

    @property
    def type(self) -> AccountType:
        return AccountType.of_name(self.name)

    @property
    def leaf(self) -> str:
        """The last segment of the name."""
        return self.name.rsplit(SEPARATOR, 1)[-1]

    @property
    def depth(self) -> int:
        """How many levels lie above the account."""
        return self.name.count(SEPARATOR)

    def is_open(self, day: date) -> bool:
        """Tell whether postings on ``day`` are still allowed."""
        return self.closed_on is None or day < self.closed_on

    def accepts(self, currency: Currency) -> bool:
        """Tell whether amounts in ``currency`` may be booked here."""
        return self.currency is None or self.currency == currency

    def to_dict(self) -> Dict[str, Any]:
        data: Dict[str, Any] = {"name": self.name}
        if self.currency is not None:
            data["currency"] = self.currency.code
        if self.closed_on is not None:
            data["closed_on"] = format_date(self.closed_on)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Account":
        currency = data.get("currency")
        closed_on = data.get("closed_on")
        return cls(
            name=normalize_name(data["name"]),
            currency=get_currency(currency) if currency else None,
            closed_on=parse_date(closed_on) if closed_on else None,
        )


class Chart:
    """The chart of accounts; iteration is in order of the names."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._accounts: Dict[str, Account] = {}
        for account in accounts:
            self.add(account)

    def add(self, account: Account) -> Account:
        """Add an account whose name is not taken yet."""
        if account.name in self._accounts:
            raise DuplicateError("account exists already", name=account.name)
        self._accounts[account.name] = account
        return account

    def get(self, name: str) -> Account:
        """Return the account called ``name``."""
        if name not in self._accounts:
            raise AccountError("unknown account", name=name)
        return self._accounts[name]

    def close(self, name: str, day: date) -> Account:
        """Refuse postings to the account from ``day`` on."""
        account = self.get(name)
        if account.closed_on is not None:
            raise AccountError("account is closed already", name=name)
        closed = Account(account.name, account.currency, day)
        self._accounts[name] = closed
        return closed

    def check(self, name: str, currency: Currency, day: date) -> Account:
        """Return the account if ``currency`` may be booked to it on ``day``."""
        account = self.get(name)
        if not account.is_open(day):
            raise AccountError("account is closed", name=name, day=format_date(day))
        if not account.accepts(currency):
            raise AccountError("account holds another currency", name=name, currency=currency)
        return account

    def children(self, name: str) -> List[Account]:
        """Return the accounts exactly one level below ``name``."""
        return [account for account in self if parent_name(account.name) == name]

    def of_type(self, kind: AccountType) -> List[Account]:
        """Return the accounts of one type."""
        return [account for account in self if account.type is kind]

    def __contains__(self, name: object) -> bool:
        return name in self._accounts

    def __iter__(self) -> Iterator[Account]:
        for name in sorted(self._accounts):
            yield self._accounts[name]

    def __len__(self) -> int:
        return len(self._accounts)
