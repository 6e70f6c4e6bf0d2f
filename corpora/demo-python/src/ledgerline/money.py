"""Exact amounts of money in one currency."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from .currency import Currency, get_currency
from .errors import CurrencyError, ParseError, ValidationError

Number = Union[int, str, Decimal]

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")


def parse_decimal(text: str) -> Decimal:
    """Read a decimal number; groups of three may be split by commas."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise ParseError("not a number", text=stripped)
    return Decimal(stripped.replace(",", ""))


def to_decimal(value: Number) -> Decimal:
    """Convert ``value`` to a decimal; floats are refused as inexact."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or isinstance(value, float):
        raise ValidationError("amounts must be exact numbers", value=value)
    if isinstance(value, int):
        return Decimal(value)
    return parse_decimal(value)


class Money:
    """An immutable amount, always a whole number of minor units."""

    __slots__ = ("_amount", "_currency")

    def __init__(self, amount: Number, currency: Union[str, Currency]) -> None:
        resolved = get_currency(currency) if isinstance(currency, str) else currency
        exact = to_decimal(amount)
        if not resolved.is_exact(exact):
            raise ValidationError("amount has too many digits", amount=exact, currency=resolved)
        self._amount = resolved.quantize(exact)
        self._currency = resolved

    @classmethod
    def zero(cls, currency: Union[str, Currency]) -> "Money":
        """Return nothing at all, in ``currency``."""
        return cls(0, currency)

    @classmethod
    def from_minor(cls, units: int, currency: Currency) -> "Money":
        """Build an amount from its number of minor units, such as cents."""
        return cls(Decimal(units).scaleb(-currency.digits), currency)

    @classmethod
    def rounded(
        cls, amount: Decimal, currency: Currency, rounding: str = ROUND_HALF_UP
    ) -> "Money":
        """Build an amount from a number that may need rounding first."""
        return cls(currency.quantize(amount, rounding), currency)

    @classmethod
    def parse(cls, text: str, default: Optional[Currency] = None) -> "Money":
        """Read ``12.50 EUR``; without a code, ``default`` is used."""
        words = text.split()
        if len(words) == 2:
            return cls(parse_decimal(words[0]), get_currency(words[1]))
        if len(words) == 1 and default is not None:
            return cls(parse_decimal(words[0]), default)
        raise ParseError("expected an amount and a currency", text=text)

    @property
    def amount(self) -> Decimal:
        return self._amount

    @property
    def currency(self) -> Currency:
        return self._currency

    @property
    def minor_units(self) -> int:
        """The amount as a whole number of minor units."""
        return int(self._amount.scaleb(self._currency.digits))

    @property
    def is_zero(self) -> bool:
        return self._amount == 0

    @property
    def is_negative(self) -> bool:
        return self._amount < 0

    @property
    def is_positive(self) -> bool:
        return self._amount > 0

    def _require_same_currency(self, other: "Money") -> None:
        if self._currency != other._currency:
            raise CurrencyError(
                "cannot mix currencies", left=self._currency, right=other._currency
            )

    def __add__(self, other: "Money") -> "Money":
        if not isinstance(other, Money):
            return NotImplemented
        self._require_same_currency(other)
        return Money(self._amount + other._amount, self._currency)

    def __sub__(self, other: "Money") -> "Money":
        if not isinstance(other, Money):
            return NotImplemented
        self._require_same_currency(other)
        return Money(self._amount - other._amount, self._currency)

    def __mul__(self, factor: Number) -> "Money":
        if isinstance(factor, Money):
            return NotImplemented
        product = self._amount * to_decimal(factor)
        return Money.rounded(product, self._currency, ROUND_HALF_EVEN)

    __rmul__ = __mul__

    def __neg__(self) -> "Money":
        return Money(-self._amount, self._currency)

    def __abs__(self) -> "Money":
        return Money(abs(self._amount), self._currency)

    def __bool__(self) -> bool:
        return not self.is_zero

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self._amount == other._amount and self._currency == other._currency

    def __hash__(self) -> int:
        return hash((self._amount, self._currency.code))

    def __lt__(self, other: "Money") -> bool:
        self._require_same_currency(other)
        return self._amount < other._amount

    def __le__(self, other: "Money") -> bool:
        self._require_same_currency(other)
        return self._amount <= other._amount

    def __gt__(self, other: "Money") -> bool:
        self._require_same_currency(other)
        return self._amount > other._amount

    def __ge__(self, other: "Money") -> bool:
        self._require_same_currency(other)
        return self._amount >= other._amount

    def __str__(self) -> str:
        return f"{self._amount} {self._currency}"

    def __repr__(self) -> str:
        return f"Money('{self._amount}', '{self._currency}')"

    def ratio_to(self, other: "Money") -> Decimal:
        """Return this amount divided by ``other``, which must not be zero."""
        self._require_same_currency(other)
        if other.is_zero:
            raise ValidationError("cannot divide by a zero amount", amount=self)
        return self._amount / other._amount

    def allocate(self, weights: Sequence[int]) -> List["Money"]:
        """Split the amount by ``weights`` without losing a minor unit.

        Units left over by rounding down go to the first shares, one each.
        """
        total = sum(weights)
        if total <= 0 or min(weights) < 0:
            raise ValidationError("weights must be positive", weights=list(weights))
        sign = -1 if self.is_negative else 1
        units = abs(self.minor_units)
        shares = [units * weight // total for weight in weights]
        remainder = units - sum(shares)
        for index, weight in enumerate(weights):
            if remainder > 0 and weight > 0:
                shares[index] += 1
                remainder -= 1
        return [Money.from_minor(sign * share, self._currency) for share in shares]

    def split(self, parts: int) -> List["Money"]:
        """Split the amount into ``parts`` shares as equal as possible."""
        if parts < 1:
            raise ValidationError("cannot split into fewer than one part", parts=parts)
        return self.allocate([1] * parts)

    def to_dict(self) -> Dict[str, Any]:
        return {"amount": str(self._amount), "currency": self._currency.code}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Money":
        return cls(data["amount"], data["currency"])


def sum_money(amounts: Iterable[Money], currency: Currency) -> Money:
    """Add up ``amounts``; the sum of none is zero in ``currency``."""
    total = Money.zero(currency)
    for amount in amounts:
        total = total + amount
    return total
