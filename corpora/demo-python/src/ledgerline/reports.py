"""Reports over a period: trial balance, income statement and register."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from .accounts import AccountType, is_within
from .balances import Balance, BalanceSheet
from .budget import BudgetStatus
from .currency import Currency
from .dates import Period, format_date
from .formatting import PLAIN, Align, MoneyStyle, Table, format_balance, shorten
from .money import Money, sum_money
from .tax import format_percent
from .transactions import Transaction, sort_transactions

PAYEE_WIDTH = 24


@dataclass(frozen=True)
class TrialBalanceRow:
    """One account of a trial balance; one of the two sides is zero."""

    account: str
    debit: Money
    credit: Money


@dataclass(frozen=True)
class TrialBalance:
    """Debits and credits by account, in one currency."""

    currency: Currency
    rows: Tuple[TrialBalanceRow, ...]

    @classmethod
    def of(cls, sheet: BalanceSheet, currency: Currency) -> "TrialBalance":
        """List the accounts that hold something in ``currency``."""
        zero = Money.zero(currency)
        rows = []
        for name in sheet.accounts():
            amount = sheet.own(name).get(currency)
            if amount.is_positive:
                rows.append(TrialBalanceRow(name, amount, zero))
            elif amount.is_negative:
                rows.append(TrialBalanceRow(name, zero, -amount))
        return cls(currency, tuple(rows))

    @property
    def debit_total(self) -> Money:
        return sum_money((row.debit for row in self.rows), self.currency)

    @property
    def credit_total(self) -> Money:
        return sum_money((row.credit for row in self.rows), self.currency)

    @property
    def is_balanced(self) -> bool:
        return self.debit_total == self.credit_total

    def render(self, style: MoneyStyle = PLAIN) -> str:
        """Return the trial balance as a table with a line of totals."""
        table = Table(["Account", "Debit", "Credit"], [Align.LEFT, Align.RIGHT, Align.RIGHT])
        for row in self.rows:
            table.add(row.account, _blank_zero(row.debit, style), _blank_zero(row.credit, style))
        table.add("Total", style.format(self.debit_total), style.format(self.credit_total))
        return table.render()


def _blank_zero(amount: Money, style: MoneyStyle) -> str:
    return style.format(amount) if amount else ""


@dataclass(frozen=True)
class IncomeStatement:
    """Income and expenses of a period, both with their natural sign."""

    period: Period
    income: Balance
    expenses: Balance

    @classmethod
    def of(cls, transactions: Iterable[Transaction], period: Period) -> "IncomeStatement":
        """Sum up the income and the expenses booked in ``period``."""
        sheet = BalanceSheet.of(transactions, period)
        return cls(
            period=period,
            income=sheet.natural(AccountType.INCOME.value),
            expenses=sheet.natural(AccountType.EXPENSE.value),
        )

    @property
    def result(self) -> Balance:
        """What is left of the income after the expenses."""
        return self.income + -self.expenses

    def to_dict(self) -> Dict[str, Any]:
        return {
            "period": self.period.to_dict(),
            "income": self.income.to_dict(),
            "expenses": self.expenses.to_dict(),
            "result": self.result.to_dict(),
        }

    def render(self, style: MoneyStyle = PLAIN) -> str:
        """Return the statement as a table of three lines."""
        table = Table(["Item", str(self.period)], [Align.LEFT, Align.RIGHT])
        table.add("Income", format_balance(self.income, style))
        table.add("Expenses", format_balance(self.expenses, style))
        table.add("Result", format_balance(self.result, style))
        return table.render()


def monthly_statements(
    transactions: Sequence[Transaction], period: Period
) -> List[IncomeStatement]:
    """Return an income statement for every month of a period."""
    return [IncomeStatement.of(transactions, month) for month in period.months()]


@dataclass(frozen=True)
class RegisterRow:
    """One posting to an account and the balance after it."""

    day: date
    payee: str
    amount: Money
    balance: Balance


def register(
    transactions: Iterable[Transaction], scope: str, period: Period
) -> Tuple[Balance, List[RegisterRow]]:
    """Return the opening balance of an account and its postings in a period."""
    opening = Balance()
    running = Balance()
    rows = []
    for transaction in sort_transactions(transactions):
        for posting in transaction.postings:
            if not is_within(posting.account, scope) or transaction.date > period.end:
                continue
            running.add(posting.amount)
            if transaction.date < period.start:
                opening.add(posting.amount)
            else:
                row = RegisterRow(
                    transaction.date, transaction.payee, posting.amount, running.copy()
                )
                rows.append(row)
    return opening, rows


def render_register(
    opening: Balance, rows: Iterable[RegisterRow], style: MoneyStyle = PLAIN
) -> str:
    """Return a register as a table that begins with the opening balance."""
    table = Table(
        ["Date", "Payee", "Amount", "Balance"],
        [Align.LEFT, Align.LEFT, Align.RIGHT, Align.RIGHT],
    )
    table.add("", "Opening balance", "", format_balance(opening, style))
    for row in rows:
        table.add(
            format_date(row.day),
            shorten(row.payee, PAYEE_WIDTH),
            style.format(row.amount),
            format_balance(row.balance, style),
        )
    return table.render()


def render_tree(sheet: BalanceSheet, style: MoneyStyle = PLAIN) -> str:
    """Return all balances as a table, indented by account level."""
    table = Table(["Account", "Balance"], [Align.LEFT, Align.RIGHT])
    for name, total in sheet.tree():
        indent = "  " * name.count(":")
        table.add(indent + name.rsplit(":", 1)[-1], format_balance(total, style))
    return table.render()


def render_budget(statuses: Iterable[BudgetStatus], style: MoneyStyle = PLAIN) -> str:
    """Return the budget of every account as a table."""
    table = Table(
        ["Account", "Limit", "Spent", "Used", "Level"],
        [Align.LEFT, Align.RIGHT, Align.RIGHT, Align.RIGHT, Align.LEFT],
    )
    for status in statuses:
        table.add(
            status.account,
            style.format(status.limit),
            style.format(status.spent),
            format_percent(round(status.used, 3)),
            status.level,
        )
    return table.render()
