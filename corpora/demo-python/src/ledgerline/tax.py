"""Tax rules: flat and tiered rates, and how they apply to amounts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Tuple

from .errors import DuplicateError, NotFoundError, ParseError, ValidationError
from .money import Money, parse_decimal

HUNDRED = Decimal(100)


def parse_percent(text: str) -> Decimal:
    """Read ``19%`` or ``19`` as the factor 0.19."""
    number = text.strip()
    if number.endswith("%"):
        number = number[:-1]
    percent = parse_decimal(number)
    if not 0 <= percent <= HUNDRED:
        raise ValidationError("percentage out of range", text=text)
    return percent / HUNDRED


def format_percent(factor: Decimal) -> str:
    """Write a factor as a percentage without needless zeros."""
    percent = (factor * HUNDRED).normalize()
    return f"{percent:f}%"


@dataclass(frozen=True)
class TaxAmount:
    """What a rule makes of an amount: the net part and the tax on it."""

    net: Money
    tax: Money

    @property
    def gross(self) -> Money:
        return self.net + self.tax

    def __add__(self, other: "TaxAmount") -> "TaxAmount":
        return TaxAmount(self.net + other.net, self.tax + other.tax)

    def to_dict(self) -> Dict[str, Any]:
        return {
            "net": self.net.to_dict(),
            "tax": self.tax.to_dict(),
            "gross": self.gross.to_dict(),
        }


class TaxRule(ABC):
    """A named way to compute the tax on a net amount."""

    kind = "abstract"

    def __init__(self, name: str) -> None:
        if not name.strip():
            raise ValidationError("tax rule needs a name")
        self.name = name

    @abstractmethod
    def tax_on(self, net: Money) -> Money:
        """Return the tax due on a net amount."""

    @abstractmethod
    def to_dict(self) -> Dict[str, Any]:
        """Return a mapping that :func:`rule_from_dict` reads back."""

    def apply(self, net: Money) -> TaxAmount:
        """Add the tax to a net amount; credits are taxed like debits."""
        tax = self.tax_on(abs(net))
        return TaxAmount(net, -tax if net.is_negative else tax)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class FlatTax(TaxRule):
    """The same rate whatever the amount."""

    kind = "flat"

    def __init__(self, name: str, rate: Decimal) -> None:
        super().__init__(name)
        if rate < 0:
            raise ValidationError("tax rate must not be negative", rate=rate)
        self.rate = rate

    def tax_on(self, net: Money) -> Money:
        return Money.rounded(net.amount * self.rate, net.currency)

    def extract(self, gross: Money) -> TaxAmount:
        """Split an amount that contains the tax already."""
        net = Money.rounded(gross.amount / (1 + self.rate), gross.currency)
        return TaxAmount(net, gross - net)

    def to_dict(self) -> Dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "rate": format_percent(self.rate)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "FlatTax":
        return cls(data["name"], parse_percent(data["rate"]))


class TieredTax(TaxRule):
    """Rising rates: each tier taxes the part above its threshold."""

    kind = "tiered"

    def __init__(self, name: str, tiers: Iterable[Tuple[Decimal, Decimal]]) -> None:
        super().__init__(name)
        self.tiers = tuple(tiers)
        if not self.tiers:
            raise ValidationError("tiered tax needs a tier", name=name)
        thresholds = [threshold for threshold, _ in self.tiers]
        if thresholds != sorted(set(thresholds)):
            raise ValidationError("tiers must rise", name=name)

    def tax_on(self, net: Money) -> Money:
        total = Decimal(0)
        for index, (threshold, rate) in enumerate(self.tiers):
            ceiling = self._ceiling(index)
            top = net.amount if ceiling is None else min(net.amount, ceiling)
            if top > threshold:
                total += (top - threshold) * rate
        return Money.rounded(total, net.currency)

    def _ceiling(self, index: int) -> Optional[Decimal]:
        if index + 1 == len(self.tiers):
            return None
        return self.tiers[index + 1][0]

    def to_dict(self) -> Dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "tiers": [[str(threshold), format_percent(rate)] for threshold, rate in self.tiers],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TieredTax":
        tiers = [(parse_decimal(low), parse_percent(rate)) for low, rate in data["tiers"]]
        return cls(data["name"], tiers)


def rule_from_dict(data: Mapping[str, Any]) -> TaxRule:
    """Build the rule whose kind the mapping names."""
    kind = data.get("kind")
    if kind == FlatTax.kind:
        return FlatTax.from_dict(data)
    if kind == TieredTax.kind:
        return TieredTax.from_dict(data)
    raise ParseError("unknown kind of tax rule", kind=kind)


class TaxTable:
    """Tax rules by name; iteration is in order of the names."""

    def __init__(self, rules: Iterable[TaxRule] = ()) -> None:
        self._rules: Dict[str, TaxRule] = {}
        for rule in rules:
            self.add(rule)

    def add(self, rule: TaxRule) -> TaxRule:
        """Add a rule whose name is not taken yet."""
        if rule.name in self._rules:
            raise DuplicateError("tax rule exists already", name=rule.name)
        self._rules[rule.name] = rule
        return rule

    def get(self, name: str) -> TaxRule:
        """Return the rule called ``name``."""
        if name not in self._rules:
            raise NotFoundError("unknown tax rule", name=name)
        return self._rules[name]

    def __iter__(self) -> Iterator[TaxRule]:
        for name in sorted(self._rules):
            yield self._rules[name]

    def __len__(self) -> int:
        return len(self._rules)
