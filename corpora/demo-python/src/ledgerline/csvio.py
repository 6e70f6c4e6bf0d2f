"""Import of bank statements from CSV, and export of postings to CSV."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from datetime import date
from typing import Dict, Iterable, List, Mapping, Sequence, TextIO, Tuple

from .currency import Currency
from .dates import format_date, parse_date
from .errors import LedgerError, ParseError
from .money import Money, parse_decimal
from .transactions import Transaction

EXPORT_COLUMNS = ("key", "date", "payee", "account", "amount", "currency", "tags")


@dataclass(frozen=True)
class ColumnMap:
    """Which columns of a statement hold the fields of a transaction."""

    date: str = "date"
    payee: str = "payee"
    amount: str = "amount"

    @property
    def names(self) -> Tuple[str, ...]:
        return (self.date, self.payee, self.amount)

    def require(self, header: Sequence[str]) -> None:
        """Raise unless the header has every column."""
        missing = [name for name in self.names if name not in header]
        if missing:
            raise ParseError("columns are missing", line=1, columns=" ".join(missing))


@dataclass
class ImportRules:
    """Finds the counter account of a statement line by its payee."""

    fallback: str = "expenses:unknown"
    patterns: List[Tuple[str, str]] = field(default_factory=list)

    def add(self, pattern: str, account: str) -> None:
        """Book payees that contain ``pattern`` to ``account``."""
        if not pattern.strip():
            raise ParseError("pattern must not be empty", account=account)
        self.patterns.append((pattern.lower(), account))

    def account_for(self, payee: str) -> str:
        """Return the account of the first pattern that fits."""
        lowered = payee.lower()
        for pattern, account in self.patterns:
            if pattern in lowered:
                return account
        return self.fallback


@dataclass
class ImportResult:
    """The transactions that were read, and the lines which were not."""

    transactions: List[Transaction] = field(default_factory=list)
    errors: List[LedgerError] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.errors

    def summary(self) -> str:
        """Return the number of lines read and refused."""
        return f"{len(self.transactions)} imported, {len(self.errors)} failed"


class StatementImporter:
    """Turns the lines of a bank statement into transactions."""

    def __init__(
        self, bank: str, currency: Currency, rules: ImportRules, columns: ColumnMap = ColumnMap()
    ) -> None:
        self.bank = bank
        self.currency = currency
        self.rules = rules
        self.columns = columns

    def read(self, stream: TextIO) -> ImportResult:
        """Read a statement; a bad line does not stop the others."""
        reader = csv.DictReader(stream)
        self.columns.require(reader.fieldnames or [])
        result = ImportResult()
        for number, row in enumerate(reader, start=2):
            try:
                result.transactions.append(self._transaction(row))
            except ParseError as error:
                result.errors.append(error.at_line(number))
            except LedgerError as error:
                result.errors.append(ParseError(error.message, line=number, **error.context))
        return result

    def _transaction(self, row: Mapping[str, str]) -> Transaction:
        day = self._day(row)
        payee = (row[self.columns.payee] or "").strip()
        amount = self._amount(row)
        other = self.rules.account_for(payee)
        return Transaction.simple(day, payee, self.bank, other, amount)

    def _day(self, row: Mapping[str, str]) -> date:
        return parse_date(row[self.columns.date] or "")

    def _amount(self, row: Mapping[str, str]) -> Money:
        return Money(parse_decimal(row[self.columns.amount] or ""), self.currency)


def export_rows(transactions: Iterable[Transaction]) -> List[Dict[str, str]]:
    """Return one row for every posting, with all columns as text."""
    rows = []
    for transaction in transactions:
        for posting in transaction.postings:
            rows.append(
                {
                    "key": transaction.key or "",
                    "date": format_date(transaction.date),
                    "payee": transaction.payee,
                    "account": posting.account,
                    "amount": str(posting.amount.amount),
                    "currency": posting.amount.currency.code,
                    "tags": " ".join(transaction.tags),
                }
            )
    return rows


def write_csv(transactions: Iterable[Transaction], stream: TextIO) -> int:
    """Write one line for every posting and return how many there were."""
    writer = csv.DictWriter(stream, EXPORT_COLUMNS, lineterminator="\n")
    writer.writeheader()
    rows = export_rows(transactions)
    writer.writerows(rows)
    return len(rows)
