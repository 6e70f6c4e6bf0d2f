"""Balances: sums of money in several currencies, and by account."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from .accounts import AccountType, ancestors, is_within
from .currency import Currency
from .dates import Period
from .money import Money
from .transactions import Posting, Transaction


class Balance:
    """A sum of money that may hold several currencies at once."""

    def __init__(self, amounts: Iterable[Money] = ()) -> None:
        self._amounts: Dict[Currency, Money] = {}
        for amount in amounts:
            self.add(amount)

    def add(self, amount: Money) -> None:
        """Add one amount; a currency whose sum is zero is dropped."""
        total = self.get(amount.currency) + amount
        if total:
            self._amounts[amount.currency] = total
        else:
            self._amounts.pop(amount.currency, None)

    def get(self, currency: Currency) -> Money:
        """Return the part in one currency, zero if there is none."""
        return self._amounts.get(currency, Money.zero(currency))

    def copy(self) -> "Balance":
        return Balance(self)

    def scaled(self, factor: int) -> "Balance":
        """Return the balance with every amount multiplied."""
        return Balance(amount * factor for amount in self)

    @property
    def is_zero(self) -> bool:
        return not self._amounts

    @property
    def currencies(self) -> List[Currency]:
        """The currencies held, in order of their codes."""
        return sorted(self._amounts, key=lambda currency: currency.code)

    def __iter__(self) -> Iterator[Money]:
        for currency in self.currencies:
            yield self._amounts[currency]

    def __len__(self) -> int:
        return len(self._amounts)

    def __add__(self, other: "Balance") -> "Balance":
        total = self.copy()
        for amount in other:
            total.add(amount)
        return total

    def __neg__(self) -> "Balance":
        return self.scaled(-1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Balance):
            return NotImplemented
        return self._amounts == other._amounts

    def __str__(self) -> str:
        return ", ".join(str(amount) for amount in self) or "0"

    def __repr__(self) -> str:
        return f"Balance([{', '.join(repr(amount) for amount in self)}])"

    def to_dict(self) -> Dict[str, Any]:
        return {amount.currency.code: str(amount.amount) for amount in self}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Balance":
        return cls(Money(amount, code) for code, amount in data.items())


class BalanceSheet:
    """The balance of every account that was posted to."""

    def __init__(self) -> None:
        self._balances: Dict[str, Balance] = {}

    @classmethod
    def of(
        cls, transactions: Iterable[Transaction], period: Optional[Period] = None
    ) -> "BalanceSheet":
        """Sum up the transactions, or only those which fall in ``period``."""
        sheet = cls()
        for transaction in transactions:
            if period is None or transaction.date in period:
                sheet.apply(transaction)
        return sheet

    def apply(self, transaction: Transaction) -> None:
        """Book every posting of one transaction."""
        for posting in transaction.postings:
            self.post(posting)

    def post(self, posting: Posting) -> None:
        """Book a single posting."""
        balance = self._balances.setdefault(posting.account, Balance())
        balance.add(posting.amount)

    def own(self, name: str) -> Balance:
        """Return the balance of one account without those below it."""
        return self._balances.get(name, Balance()).copy()

    def total(self, scope: str) -> Balance:
        """Return the balance of an account and of everything below it."""
        result = Balance()
        for name, balance in self._balances.items():
            if is_within(name, scope):
                result = result + balance
        return result

    def natural(self, scope: str) -> Balance:
        """Return the total with the sign people expect for the account."""
        return self.total(scope).scaled(AccountType.of_name(scope).sign)

    def accounts(self) -> List[str]:
        """Return the accounts with a balance other than zero, sorted."""
        return sorted(name for name, balance in self._balances.items() if not balance.is_zero)

    def tree(self) -> List[Tuple[str, Balance]]:
        """Return every account and its ancestors with their totals."""
        names = set(self.accounts())
        for name in self.accounts():
            names.update(ancestors(name))
        return [(name, self.total(name)) for name in sorted(names)]

    def is_balanced(self) -> bool:
        """Tell whether all accounts together add up to zero."""
        result = Balance()
        for balance in self._balances.values():
            result = result + balance
        return result.is_zero
