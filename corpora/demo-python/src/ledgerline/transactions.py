"""Transactions and the postings they are made of."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from .accounts import Chart, is_within, normalize_name
from .currency import Currency
from .dates import format_date, parse_date
from .errors import UnbalancedError, ValidationError
from .money import Money, sum_money


@dataclass(frozen=True)
class Posting:
    """One leg of a transaction: debits are positive, credits negative."""

    account: str
    amount: Money
    memo: str = ""

    @property
    def is_debit(self) -> bool:
        return self.amount.is_positive

    @property
    def is_credit(self) -> bool:
        return self.amount.is_negative

    def reversed(self) -> "Posting":
        """Return the posting that undoes this one."""
        return Posting(self.account, -self.amount, self.memo)

    def to_dict(self) -> Dict[str, Any]:
        data = {"account": self.account, "amount": self.amount.to_dict()}
        if self.memo:
            data["memo"] = self.memo
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Posting":
        return cls(
            account=normalize_name(data["account"]),
            amount=Money.from_dict(data["amount"]),
            memo=data.get("memo", ""),
        )


@dataclass(frozen=True)
class Transaction:
    """A dated set of postings that adds up to zero in every currency."""

    date: dt.date
    payee: str
    postings: Tuple[Posting, ...]
    tags: Tuple[str, ...] = field(default=())
    cleared: bool = False
    key: Optional[str] = None

    def __post_init__(self) -> None:
        if not self.payee.strip():
            raise ValidationError("transaction needs a payee", date=format_date(self.date))
        if len(self.postings) < 2:
            raise ValidationError("transaction needs two postings", payee=self.payee)
        for currency, total in self.totals().items():
            if total:
                raise UnbalancedError(
                    "postings do not add up to zero", payee=self.payee, currency=currency, off=total
                )

    @classmethod
    def simple(
        cls, day: dt.date, payee: str, debit: str, credit: str, amount: Money
    ) -> "Transaction":
        """Move ``amount`` from the ``credit`` account to the ``debit`` one."""
        return cls(day, payee, (Posting(debit, amount), Posting(credit, -amount)))

    def totals(self) -> Dict[str, Money]:
        """Return the sum of the postings by currency code."""
        return {
            currency.code: sum_money(self.amounts_in(currency), currency)
            for currency in self.currencies
        }

    @property
    def currencies(self) -> List[Currency]:
        """The currencies used, in order of their codes."""
        unique = {posting.amount.currency for posting in self.postings}
        return sorted(unique, key=lambda currency: currency.code)

    @property
    def accounts(self) -> List[str]:
        """The accounts touched, in posting order and without repeats."""
        return list(dict.fromkeys(posting.account for posting in self.postings))

    @property
    def sort_key(self) -> Tuple[dt.date, str, str]:
        return (self.date, self.key or "", self.payee)

    def amounts_in(self, currency: Currency) -> List[Money]:
        """Return the amounts of all postings in one currency."""
        return [
            posting.amount for posting in self.postings if posting.amount.currency == currency
        ]

    def volume(self, currency: Currency) -> Money:
        """Return the sum of the debits in one currency."""
        debits = (amount for amount in self.amounts_in(currency) if amount.is_positive)
        return sum_money(debits, currency)

    def touches(self, scope: str) -> bool:
        """Tell whether a posting goes to ``scope`` or an account below it."""
        return any(is_within(posting.account, scope) for posting in self.postings)

    def has_tag(self, tag: str) -> bool:
        return tag.lower() in self.tags

    def check(self, chart: Chart) -> None:
        """Raise unless the chart allows every posting."""
        for posting in self.postings:
            chart.check(posting.account, posting.amount.currency, self.date)

    def reversed(self, day: dt.date) -> "Transaction":
        """Return the transaction which undoes this one on ``day``."""
        postings = tuple(posting.reversed() for posting in self.postings)
        return Transaction(day, f"Reversal of {self.payee}", postings, self.tags)

    def with_key(self, key: str) -> "Transaction":
        """Return a copy which is stored under ``key``."""
        return Transaction(self.date, self.payee, self.postings, self.tags, self.cleared, key)

    def to_dict(self) -> Dict[str, Any]:
        data: Dict[str, Any] = {
            "date": format_date(self.date),
            "payee": self.payee,
            "postings": [posting.to_dict() for posting in self.postings],
        }
        if self.tags:
            data["tags"] = list(self.tags)
        if self.cleared:
            data["cleared"] = True
        if self.key is not None:
            data["key"] = self.key
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Transaction":
        return cls(
            date=parse_date(data["date"]),
            payee=data["payee"],
            postings=tuple(Posting.from_dict(item) for item in data["postings"]),
            tags=tuple(data.get("tags", ())),
            cleared=bool(data.get("cleared", False)),
            key=data.get("key"),
        )


def sort_transactions(transactions: Iterable[Transaction]) -> List[Transaction]:
    """Return the transactions by date, then key, then payee."""
    return sorted(transactions, key=lambda transaction: transaction.sort_key)
