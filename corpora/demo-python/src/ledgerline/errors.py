"""Exception hierarchy shared by every module of the package.

Callers that only want to know whether a ledger operation failed can catch
:class:`LedgerError`; the subclasses say which kind of input was at fault.
"""

from __future__ import annotations

from typing import Any, Dict, Optional


class LedgerError(Exception):
    """Base class for every error the package raises on purpose."""

    code = "ledger"
    exit_status = 1

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.context = context

    def describe(self) -> str:
        """Return the message, followed by the context in key order."""
        if not self.context:
            return f"{self.code}: {self.message}"
        details = ", ".join(f"{key}={self.context[key]}" for key in sorted(self.context))
        return f"{self.code}: {self.message} ({details})"

    def to_dict(self) -> Dict[str, Any]:
        """Return a plain mapping, for callers that report errors as data."""
        return {
            "code": self.code,
            "message": self.message,
            "context": {key: str(value) for key, value in self.context.items()},
        }


class ParseError(LedgerError):
    """Text could not be read; remembers the line it came from."""

    code = "parse"
    exit_status = 2

    def __init__(self, message: str, line: Optional[int] = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.line = line

    def at_line(self, line: int) -> "ParseError":
        """Return a copy of the error that points at ``line``.

        A line which is already known wins, because it was set closer to the
        place where reading failed.
        """
        if self.line is not None:
            return self
        return type(self)(self.message, line=line, **self.context)

    def describe(self) -> str:
        text = super().describe()
        if self.line is None:
            return text
        return f"line {self.line}: {text}"


class ValidationError(LedgerError):
    """A value was readable, but breaks a rule of the ledger."""

    code = "validation"
    exit_status = 3


class CurrencyError(ValidationError):
    """A currency is unknown, or two currencies were mixed."""

    code = "currency"


class UnbalancedError(ValidationError):
    """The postings of a transaction do not add up to zero."""

    code = "unbalanced"


class AccountError(ValidationError):
    """An account is missing, closed or of the wrong type."""

    code = "account"


class StorageError(LedgerError):
    """A store could not find, read or write a record."""

    code = "storage"
    exit_status = 4


class NotFoundError(StorageError):
    """The requested record does not exist in the store."""

    code = "not-found"


class DuplicateError(StorageError):
    """A record with the same key exists already."""

    code = "duplicate"
