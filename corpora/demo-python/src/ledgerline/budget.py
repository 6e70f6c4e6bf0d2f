"""Budgets: monthly limits by account and how much of them is used."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional

from .accounts import AccountType, is_within, normalize_name
from .balances import BalanceSheet
from .dates import Period
from .errors import AccountError, DuplicateError, ParseError, ValidationError
from .money import Money
from .transactions import Transaction

WARN_AT = Decimal("0.9")


@dataclass(frozen=True)
class BudgetLimit:
    """The most that an expense account should cost in a month."""

    account: str
    monthly: Money

    def __post_init__(self) -> None:
        if AccountType.of_name(self.account) is not AccountType.EXPENSE:
            raise AccountError("only expenses have a budget", name=self.account)
        if not self.monthly.is_positive:
            raise ValidationError("budget must be positive", amount=self.monthly)

    @classmethod
    def parse(cls, text: str) -> "BudgetLimit":
        """Read ``expenses:rent 1200.00 EUR``."""
        words = text.split(None, 1)
        if len(words) != 2:
            raise ParseError("expected an account and an amount", text=text)
        return cls(normalize_name(words[0]), Money.parse(words[1]))

    def for_months(self, months: int) -> Money:
        """Return the limit for several months."""
        return self.monthly * months

    def to_dict(self) -> Dict[str, Any]:
        return {"account": self.account, "monthly": self.monthly.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "BudgetLimit":
        return cls(normalize_name(data["account"]), Money.from_dict(data["monthly"]))


@dataclass(frozen=True)
class BudgetStatus:
    """How a limit compares with what was spent."""

    account: str
    limit: Money
    spent: Money

    @property
    def remaining(self) -> Money:
        return self.limit - self.spent

    @property
    def used(self) -> Decimal:
        """The share of the limit which is spent, as a factor."""
        return self.spent.ratio_to(self.limit)

    @property
    def is_exceeded(self) -> bool:
        return self.spent > self.limit

    @property
    def level(self) -> str:
        """One of ``ok``, ``warning`` and ``exceeded``."""
        if self.is_exceeded:
            return "exceeded"
        if self.used >= WARN_AT:
            return "warning"
        return "ok"


class Budget:
    """Limits by account; a limit also covers the accounts below."""

    def __init__(self, limits: Iterable[BudgetLimit] = ()) -> None:
        self._limits: Dict[str, BudgetLimit] = {}
        for limit in limits:
            self.add(limit)

    def add(self, limit: BudgetLimit) -> BudgetLimit:
        """Add a limit for an account which has none yet."""
        if limit.account in self._limits:
            raise DuplicateError("budget exists already", name=limit.account)
        self._limits[limit.account] = limit
        return limit

    def limit_for(self, account: str) -> Optional[BudgetLimit]:
        """Return the closest limit that covers ``account``."""
        covering = [limit for limit in self if is_within(account, limit.account)]
        if not covering:
            return None
        return max(covering, key=lambda limit: len(limit.account))

    def status(self, transactions: Iterable[Transaction], period: Period) -> List[BudgetStatus]:
        """Compare every limit with the expenses of a period."""
        sheet = BalanceSheet.of(transactions, period)
        months = len(period.months())
        result = []
        for limit in self:
            spent = sheet.total(limit.account).get(limit.monthly.currency)
            result.append(BudgetStatus(limit.account, limit.for_months(months), spent))
        return result

    def __iter__(self) -> Iterator[BudgetLimit]:
        for account in sorted(self._limits):
            yield self._limits[account]

    def __len__(self) -> int:
        return len(self._limits)
