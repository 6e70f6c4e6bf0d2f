"""Exchange rates by day, and conversion between currencies."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from .balances import Balance
from .currency import Currency, get_currency
from .dates import format_date, parse_date
from .errors import CurrencyError, ParseError, ValidationError
from .money import Money, parse_decimal


@dataclass(frozen=True)
class Rate:
    """From ``day`` on, one unit of ``base`` costs ``factor`` of ``quote``."""

    day: date
    base: Currency
    quote: Currency
    factor: Decimal

    def __post_init__(self) -> None:
        if self.factor <= 0:
            raise ValidationError("rate must be positive", factor=self.factor)
        if self.base == self.quote:
            raise CurrencyError("rate needs two currencies", code=self.base)

    @classmethod
    def parse(cls, text: str) -> "Rate":
        """Read ``2024-01-01 USD EUR 0.92``."""
        words = text.split()
        if len(words) != 4:
            raise ParseError("expected a day, two currencies and a factor", text=text)
        return cls(
            day=parse_date(words[0]),
            base=get_currency(words[1]),
            quote=get_currency(words[2]),
            factor=parse_decimal(words[3]),
        )

    def __str__(self) -> str:
        return f"{format_date(self.day)} {self.base} {self.quote} {self.factor}"

    def to_dict(self) -> Dict[str, Any]:
        return {
            "day": format_date(self.day),
            "base": self.base.code,
            "quote": self.quote.code,
            "factor": str(self.factor),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Rate":
        return cls(
            day=parse_date(data["day"]),
            base=get_currency(data["base"]),
            quote=get_currency(data["quote"]),
            factor=parse_decimal(data["factor"]),
        )


class RateTable:
    """Rates by pair of currencies; the latest one up to a day is used."""

    def __init__(self, rates: Iterable[Rate] = ()) -> None:
        self._rates: Dict[Tuple[Currency, Currency], List[Rate]] = {}
        for rate in rates:
            self.add(rate)

    def add(self, rate: Rate) -> None:
        """Add a rate; one for the same pair and day is replaced."""
        series = self._rates.setdefault((rate.base, rate.quote), [])
        series[:] = [other for other in series if other.day != rate.day]
        series.append(rate)
        series.sort(key=lambda item: item.day)

    def _direct(self, base: Currency, quote: Currency, day: date) -> Optional[Decimal]:
        series = self._rates.get((base, quote), [])
        position = bisect_right([rate.day for rate in series], day)
        if position == 0:
            return None
        return series[position - 1].factor

    def factor(self, base: Currency, quote: Currency, day: date) -> Decimal:
        """Return the factor valid on ``day``, inverting a rate if needed."""
        if base == quote:
            return Decimal(1)
        direct = self._direct(base, quote, day)
        if direct is not None:
            return direct
        inverse = self._direct(quote, base, day)
        if inverse is not None:
            return 1 / inverse
        raise CurrencyError("no rate for this day", base=base, quote=quote, day=format_date(day))

    def convert(self, amount: Money, quote: Currency, day: date) -> Money:
        """Convert an amount at the rate of ``day``."""
        factor = self.factor(amount.currency, quote, day)
        return Money.rounded(amount.amount * factor, quote)

    def value(self, balance: Balance, quote: Currency, day: date) -> Money:
        """Return the worth of a whole balance in one currency."""
        total = Money.zero(quote)
        for amount in balance:
            total = total + self.convert(amount, quote, day)
        return total

    def __len__(self) -> int:
        return sum(len(series) for series in self._rates.values())
