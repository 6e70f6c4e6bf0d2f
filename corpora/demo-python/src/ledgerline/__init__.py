"""Plain text double-entry accounting with invoices, taxes and budgets."""

from .accounts import Account, AccountType, Chart
from .balances import Balance, BalanceSheet
from .budget import Budget, BudgetLimit
from .currency import Currency, get_currency
from .dates import Period, parse_date
from .errors import LedgerError, ParseError, ValidationError
from .invoices import Invoice, InvoiceLine
from .money import Money
from .parser import Journal, format_journal, parse_journal
from .rates import Rate, RateTable
from .recurring import Frequency, RecurringEntry, Schedule
from .storage import FileStore, MemoryStore, Store
from .tax import FlatTax, TaxTable, TieredTax
from .transactions import Posting, Transaction

__version__ = "1.4.0"

__all__ = [
    "Account",
    "AccountType",
    "Balance",
    "BalanceSheet",
    "Budget",
    "BudgetLimit",
    "Chart",
    "Currency",
    "FileStore",
    "FlatTax",
    "Frequency",
    "Invoice",
    "InvoiceLine",
    "Journal",
    "LedgerError",
    "MemoryStore",
    "Money",
    "ParseError",
    "Period",
    "Posting",
    "Rate",
    "RateTable",
    "RecurringEntry",
    "Schedule",
    "Store",
    "TaxTable",
    "TieredTax",
    "Transaction",
    "ValidationError",
    "format_journal",
    "get_currency",
    "parse_date",
    "parse_journal",
]
