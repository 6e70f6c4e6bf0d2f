"""Text output: money with group separators, and aligned tables."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import List, Sequence

from .balances import Balance
from .errors import ValidationError
from .money import Money


class Align(Enum):
    """On which side a column is filled up with blanks."""

    LEFT = "left"
    RIGHT = "right"

    def pad(self, text: str, width: int) -> str:
        """Fill ``text`` up to ``width`` characters."""
        if self is Align.RIGHT:
            return text.rjust(width)
        return text.ljust(width)


@dataclass(frozen=True)
class MoneyStyle:
    """How amounts are written: separators, sign and currency."""

    group: str = ","
    point: str = "."
    use_symbol: bool = False
    parentheses: bool = False

    def number(self, amount: Decimal) -> str:
        """Write the digits of an amount, without its sign."""
        text = f"{abs(amount):,}"
        swapped = text.replace(",", "\0").replace(".", self.point)
        return swapped.replace("\0", self.group)

    def format(self, money: Money) -> str:
        """Write an amount with its sign and its currency."""
        digits = self.number(money.amount)
        if self.use_symbol and money.currency.symbol:
            text = f"{money.currency.symbol}{digits}"
        else:
            text = f"{digits} {money.currency.code}"
        if not money.is_negative:
            return text
        return f"({text})" if self.parentheses else f"-{text}"


PLAIN = MoneyStyle(group="")
ENGLISH = MoneyStyle(use_symbol=True)
GERMAN = MoneyStyle(group=".", point=",")
ACCOUNTING = MoneyStyle(parentheses=True)

STYLES = {"plain": PLAIN, "english": ENGLISH, "german": GERMAN, "accounting": ACCOUNTING}


def get_style(name: str) -> MoneyStyle:
    """Return one of the styles that ship with the package."""
    if name not in STYLES:
        raise ValidationError("unknown style", name=name)
    return STYLES[name]


def format_balance(balance: Balance, style: MoneyStyle = PLAIN) -> str:
    """Write all amounts of a balance; an empty one is a dash."""
    if balance.is_zero:
        return "-"
    return " + ".join(style.format(amount) for amount in balance)


def shorten(text: str, width: int) -> str:
    """Cut ``text`` to ``width`` characters and mark the cut with dots."""
    if width < 4:
        raise ValidationError("width is too small", width=width)
    if len(text) <= width:
        return text
    return text[: width - 3].rstrip() + "..."


class Table:
    """Rows of text in columns that are as wide as their widest cell."""

    def __init__(self, headers: Sequence[str], aligns: Sequence[Align] = ()) -> None:
        self.headers = list(headers)
        self.aligns = list(aligns) or [Align.LEFT] * len(self.headers)
        if len(self.aligns) != len(self.headers):
            raise ValidationError("every column needs an alignment", columns=len(self.headers))
        self.rows: List[List[str]] = []

    def add(self, *cells: object) -> None:
        """Append a row, which must have a cell for every column."""
        if len(cells) != len(self.headers):
            raise ValidationError("row has the wrong number of cells", cells=len(cells))
        self.rows.append([str(cell) for cell in cells])

    def widths(self) -> List[int]:
        """Return the width of every column."""
        return [
            max(len(row[index]) for row in [self.headers] + self.rows)
            for index in range(len(self.headers))
        ]

    def _render_row(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            align.pad(cell, width) for cell, width, align in zip(cells, widths, self.aligns)
        ]
        return "  ".join(padded).rstrip()

    def render(self) -> str:
        """Return the header, a rule and the rows as lines of text."""
        widths = self.widths()
        lines = [self._render_row(self.headers, widths)]
        lines.append("  ".join("-" * width for width in widths))
        for row in self.rows:
            lines.append(self._render_row(row, widths))
        return "\n".join(lines)
