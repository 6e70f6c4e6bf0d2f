"""Reader and writer for the plain text journal format.

A journal consists of directives and of transactions. The postings of a
transaction are indented, and one of them may leave out its amount::

    account assets:bank EUR
    rate 2024-01-01 USD EUR 0.92
    budget expenses:rent 1200.00 EUR

    2024-01-05 * Landlord  #rent    ; a comment
        expenses:rent    1,200.00 EUR
        assets:bank
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import Iterable, List, Optional, Tuple

from .accounts import Account, Chart, normalize_name
from .budget import Budget, BudgetLimit
from .currency import Currency
from .dates import format_date, parse_date
from .errors import LedgerError, ParseError
from .money import Money
from .rates import Rate, RateTable
from .transactions import Posting, Transaction

COMMENT = ";"
INDENT = "    "
_TAG = re.compile(r"#([A-Za-z0-9_-]+)")
_GAP = re.compile(r"\s{2,}|\t")


@dataclass
class Journal:
    """Everything that one journal text declares."""

    chart: Chart = field(default_factory=Chart)
    rates: RateTable = field(default_factory=RateTable)
    budget: Budget = field(default_factory=Budget)
    transactions: List[Transaction] = field(default_factory=list)

    def check(self) -> None:
        """Raise unless every transaction fits the chart of accounts.

        A journal that declares no accounts at all is not checked.
        """
        if len(self.chart) == 0:
            return
        for transaction in self.transactions:
            transaction.check(self.chart)


def strip_comment(line: str) -> str:
    """Cut off a comment and the white space before it."""
    return line.split(COMMENT, 1)[0].rstrip()


def split_tags(text: str) -> Tuple[str, Tuple[str, ...]]:
    """Take the tags out of a text; return the rest and the sorted tags."""
    tags = {tag.lower() for tag in _TAG.findall(text)}
    rest = " ".join(_TAG.sub("", text).split())
    return rest, tuple(sorted(tags))


@dataclass
class _Draft:
    """A transaction whose postings are still being read."""

    line: int
    day: date
    payee: str
    tags: Tuple[str, ...]
    cleared: bool
    legs: List[Tuple[str, Optional[Money]]] = field(default_factory=list)

    def finish(self) -> Transaction:
        """Fill in the amount that was left out and build the transaction."""
        missing = [name for name, amount in self.legs if amount is None]
        if len(missing) > 1:
            raise ParseError("only one posting may leave out its amount", line=self.line)
        postings = []
        for name, amount in self.legs:
            value = self._rest() if amount is None else amount
            postings.append(Posting(name, value))
        return Transaction(self.day, self.payee, tuple(postings), self.tags, self.cleared)

    def _rest(self) -> Money:
        amounts = [amount for _, amount in self.legs if amount is not None]
        currencies = {amount.currency for amount in amounts}
        if len(currencies) != 1:
            raise ParseError("cannot infer the amount left out", line=self.line)
        total = Money.zero(currencies.pop())
        for amount in amounts:
            total = total - amount
        return total


class JournalParser:
    """Reads a journal line by line; errors name the line at fault."""

    def __init__(self, default_currency: Optional[Currency] = None) -> None:
        self.default_currency = default_currency

    def parse(self, text: str) -> Journal:
        """Read a whole journal."""
        return self.parse_lines(text.splitlines())

    def parse_lines(self, lines: Iterable[str]) -> Journal:
        """Read a journal from its lines."""
        self._journal = Journal()
        self._draft: Optional[_Draft] = None
        for number, line in enumerate(lines, start=1):
            try:
                self._line(number, strip_comment(line))
            except ParseError as error:
                raise error.at_line(number) from error
            except LedgerError as error:
                raise ParseError(error.message, line=number, **error.context) from error
        self._flush()
        return self._journal

    def _line(self, number: int, line: str) -> None:
        if not line.strip():
            self._flush()
        elif line[0].isspace():
            self._posting(line.strip())
        elif line[0].isdigit():
            self._flush()
            self._draft = self._header(number, line)
        else:
            self._flush()
            self._directive(line)

    def _header(self, number: int, line: str) -> _Draft:
        day, _, rest = line.partition(" ")
        text, tags = split_tags(rest)
        cleared = text.startswith("*")
        payee = text[1:].strip() if cleared else text
        return _Draft(number, parse_date(day), payee, tags, cleared)

    def _posting(self, text: str) -> None:
        if self._draft is None:
            raise ParseError("posting outside of a transaction")
        parts = _GAP.split(text, maxsplit=1)
        name = normalize_name(parts[0])
        amount = Money.parse(parts[1], self.default_currency) if len(parts) == 2 else None
        self._draft.legs.append((name, amount))

    def _directive(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "account":
            self._journal.chart.add(Account.parse(rest))
        elif word == "rate":
            self._journal.rates.add(Rate.parse(rest))
        elif word == "budget":
            self._journal.budget.add(BudgetLimit.parse(rest))
        else:
            raise ParseError("unknown directive", word=word)

    def _flush(self) -> None:
        if self._draft is None:
            return
        draft, self._draft = self._draft, None
        try:
            self._journal.transactions.append(draft.finish())
        except ParseError:
            raise
        except LedgerError as error:
            raise ParseError(error.message, line=draft.line, **error.context) from error


def parse_journal(text: str, default_currency: Optional[Currency] = None) -> Journal:
    """Read a journal text and check it against its own chart."""
    journal = JournalParser(default_currency).parse(text)
    journal.check()
    return journal


def format_transaction(transaction: Transaction) -> str:
    """Write one transaction in the journal format."""
    header = [format_date(transaction.date)]
    if transaction.cleared:
        header.append("*")
    header.append(transaction.payee)
    header.extend(f"#{tag}" for tag in transaction.tags)
    lines = [" ".join(header)]
    width = max(len(posting.account) for posting in transaction.postings)
    for posting in transaction.postings:
        lines.append(f"{INDENT}{posting.account.ljust(width)}  {posting.amount}")
    return "\n".join(lines)


def format_journal(transactions: Iterable[Transaction]) -> str:
    """Write transactions so that :func:`parse_journal` reads them back."""
    blocks = [format_transaction(transaction) for transaction in transactions]
    if not blocks:
        return ""
    return "\n\n".join(blocks) + "\n"
