"""Stores for transactions: an interface, in memory, and in a file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional

from .dates import Period
from .errors import DuplicateError, LedgerError, NotFoundError, StorageError
from .transactions import Transaction, sort_transactions


class Store(ABC):
    """Where transactions are kept; the keys are made by the store."""

    @abstractmethod
    def add(self, transaction: Transaction) -> Transaction:
        """Keep a transaction and return it with its key."""

    @abstractmethod
    def get(self, key: str) -> Transaction:
        """Return one transaction or raise :class:`NotFoundError`."""

    @abstractmethod
    def remove(self, key: str) -> Transaction:
        """Forget one transaction and return it."""

    @abstractmethod
    def __iter__(self) -> Iterator[Transaction]:
        """Yield all transactions by date and key."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of transactions."""

    def add_all(self, transactions: Iterable[Transaction]) -> List[Transaction]:
        """Keep several transactions and return them with their keys."""
        return [self.add(transaction) for transaction in transactions]

    def find(
        self,
        period: Optional[Period] = None,
        scope: Optional[str] = None,
        tag: Optional[str] = None,
    ) -> List[Transaction]:
        """Return the transactions which match all conditions given."""
        found = []
        for transaction in self:
            if period is not None and transaction.date not in period:
                continue
            if scope is not None and not transaction.touches(scope):
                continue
            if tag is not None and not transaction.has_tag(tag):
                continue
            found.append(transaction)
        return found


class MemoryStore(Store):
    """Keeps transactions in a dictionary; nothing outlives the process."""

    def __init__(self) -> None:
        self._records: Dict[str, Transaction] = {}
        self._counter = 0

    def number_from(self, number: int) -> None:
        """Make new keys count on after ``number``."""
        self._counter = number

    def _next_key(self) -> str:
        self._counter += 1
        return f"t{self._counter:06d}"

    def add(self, transaction: Transaction) -> Transaction:
        key = transaction.key or self._next_key()
        if key in self._records:
            raise DuplicateError("transaction exists already", key=key)
        stored = transaction.with_key(key)
        self._records[key] = stored
        return stored

    def get(self, key: str) -> Transaction:
        if key not in self._records:
            raise NotFoundError("no such transaction", key=key)
        return self._records[key]

    def remove(self, key: str) -> Transaction:
        transaction = self.get(key)
        del self._records[key]
        return transaction

    def __iter__(self) -> Iterator[Transaction]:
        return iter(sort_transactions(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)


class FileStore(Store):
    """Keeps transactions in a file with one JSON object per line.

    The file is read when the store is opened, and rewritten through a
    temporary file after every change, so that it is never half written.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._memory = MemoryStore()
        if self.path.exists():
            self._load()

    def _load(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                self._memory.add(Transaction.from_dict(json.loads(line)))
            except (ValueError, KeyError, TypeError, LedgerError) as error:
                raise StorageError("bad record", path=self.path.name, line=number) from error
        self._memory.number_from(self._highest_number())

    def _highest_number(self) -> int:
        numbers = [0]
        for transaction in self._memory:
            key = transaction.key or ""
            if key.startswith("t") and key[1:].isdigit():
                numbers.append(int(key[1:]))
        return max(numbers)

    def _save(self) -> None:
        records = [json.dumps(item.to_dict(), sort_keys=True) for item in self._memory]
        temporary = self.path.with_name(self.path.name + ".tmp")
        try:
            temporary.write_text("".join(record + "\n" for record in records), encoding="utf-8")
            temporary.replace(self.path)
        except OSError as error:
            raise StorageError("cannot write store", path=self.path.name) from error

    def add(self, transaction: Transaction) -> Transaction:
        stored = self._memory.add(transaction)
        self._save()
        return stored

    def add_all(self, transactions: Iterable[Transaction]) -> List[Transaction]:
        try:
            return self._memory.add_all(transactions)
        finally:
            self._save()

    def get(self, key: str) -> Transaction:
        return self._memory.get(key)

    def remove(self, key: str) -> Transaction:
        transaction = self._memory.remove(key)
        self._save()
        return transaction

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._memory)

    def __len__(self) -> int:
        return len(self._memory)
