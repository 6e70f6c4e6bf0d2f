"""Currencies and the registry which resolves their codes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Dict, Iterable, Iterator, Mapping

from .errors import CurrencyError, DuplicateError

MAX_DIGITS = 8


@dataclass(frozen=True)
class Currency:
    """An ISO-like currency: a three letter code and its minor unit."""

    code: str
    digits: int = 2
    symbol: str = ""

    def __post_init__(self) -> None:
        if len(self.code) != 3 or not self.code.isalpha() or not self.code.isupper():
            raise CurrencyError("currency code must be three capital letters", code=self.code)
        if not 0 <= self.digits <= MAX_DIGITS:
            raise CurrencyError("currency digits out of range", digits=self.digits)

    def __str__(self) -> str:
        return self.code

    @property
    def quantum(self) -> Decimal:
        """The smallest amount that can be booked in this currency."""
        return Decimal(1).scaleb(-self.digits)

    @property
    def minor_per_major(self) -> int:
        """How many minor units make up one major unit."""
        return 10 ** self.digits

    def quantize(self, amount: Decimal, rounding: str = ROUND_HALF_EVEN) -> Decimal:
        """Round ``amount`` to a whole number of minor units."""
        return amount.quantize(self.quantum, rounding=rounding)

    def is_exact(self, amount: Decimal) -> bool:
        """Tell whether ``amount`` can be booked without rounding."""
        return self.quantize(amount) == amount

    def to_dict(self) -> Dict[str, Any]:
        return {"code": self.code, "digits": self.digits, "symbol": self.symbol}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Currency":
        return cls(
            code=data["code"],
            digits=int(data.get("digits", 2)),
            symbol=data.get("symbol", ""),
        )


class CurrencyRegistry:
    """Currencies by code; iteration is in alphabetical order."""

    def __init__(self, currencies: Iterable[Currency] = ()) -> None:
        self._by_code: Dict[str, Currency] = {}
        for item in currencies:
            self.register(item)

    def register(self, item: Currency) -> Currency:
        """Add ``item``; registering an equal currency again is harmless."""
        known = self._by_code.get(item.code)
        if known is not None and known != item:
            raise DuplicateError("currency is registered with other settings", code=item.code)
        self._by_code[item.code] = item
        return item

    def get(self, code: str) -> Currency:
        """Return the currency called ``code``, whatever its case."""
        normalized = code.strip().upper()
        if normalized not in self._by_code:
            raise CurrencyError("unknown currency", code=code)
        return self._by_code[normalized]

    def __contains__(self, code: object) -> bool:
        return isinstance(code, str) and code.strip().upper() in self._by_code

    def __iter__(self) -> Iterator[Currency]:
        for code in sorted(self._by_code):
            yield self._by_code[code]

    def __len__(self) -> int:
        return len(self._by_code)


EUR = Currency("EUR", 2, "\u20ac")
USD = Currency("USD", 2, "$")
GBP = Currency("GBP", 2, "\u00a3")
JPY = Currency("JPY", 0, "\u00a5")
CHF = Currency("CHF", 2, "Fr.")
KWD = Currency("KWD", 3, "KD")

REGISTRY = CurrencyRegistry([EUR, USD, GBP, JPY, CHF, KWD])


def get_currency(code: str) -> Currency:
    """Look ``code`` up in the registry that ships with the package."""
    return REGISTRY.get(code)
