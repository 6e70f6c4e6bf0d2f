"""Command line: read a journal and print reports about it."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import List, Optional, Sequence, TextIO

from .accounts import normalize_name
from .balances import BalanceSheet
from .csvio import ImportRules, StatementImporter, write_csv
from .currency import get_currency
from .dates import Period
from .errors import LedgerError, StorageError
from .formatting import STYLES, get_style
from .parser import Journal, format_journal, parse_journal
from .reports import (
    IncomeStatement,
    TrialBalance,
    register,
    render_budget,
    render_register,
    render_tree,
)
from .storage import FileStore


def build_parser() -> argparse.ArgumentParser:
    """Return the parser for all commands."""
    parser = argparse.ArgumentParser(prog="ledgerline", description="Plain text accounting.")
    parser.add_argument("--style", choices=sorted(STYLES), default="plain")
    commands = parser.add_subparsers(dest="command", required=True)

    check = commands.add_parser("check", help="read a journal and report the first error")
    check.add_argument("journal", type=Path)

    balance = commands.add_parser("balance", help="show the balance of every account")
    balance.add_argument("journal", type=Path)
    balance.add_argument("--period", type=str)

    trial = commands.add_parser("trial", help="show debits and credits in one currency")
    trial.add_argument("journal", type=Path)
    trial.add_argument("--currency", default="EUR")

    income = commands.add_parser("income", help="show income and expenses of a period")
    income.add_argument("journal", type=Path)
    income.add_argument("--period", required=True)

    ledger = commands.add_parser("register", help="show the postings to one account")
    ledger.add_argument("journal", type=Path)
    ledger.add_argument("account")
    ledger.add_argument("--period", required=True)

    budget = commands.add_parser("budget", help="compare expenses with their limits")
    budget.add_argument("journal", type=Path)
    budget.add_argument("--period", required=True)

    export = commands.add_parser("export", help="write all postings as CSV")
    export.add_argument("journal", type=Path)

    statement = commands.add_parser("import", help="turn a bank statement into a journal")
    statement.add_argument("statement", type=Path)
    statement.add_argument("--bank", default="assets:bank")
    statement.add_argument("--currency", default="EUR")
    statement.add_argument("--rule", action="append", default=[], metavar="TEXT=ACCOUNT")

    store = commands.add_parser("store", help="add a journal to a store file")
    store.add_argument("journal", type=Path)
    store.add_argument("store", type=Path)
    return parser


def read_text(path: Path) -> str:
    """Read a file and turn system errors into errors of the package."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError("cannot read file", path=path.name) from error


def load_journal(path: Path) -> Journal:
    """Read and check the journal at ``path``."""
    return parse_journal(read_text(path))


class Application:
    """Runs one command; all output goes to the streams given."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err

    def run(self, argv: Sequence[str]) -> int:
        """Run a command line and return the exit status."""
        options = build_parser().parse_args(argv)
        handler = getattr(self, f"cmd_{options.command}")
        try:
            return handler(options)
        except LedgerError as error:
            self.err.write(f"error: {error.describe()}\n")
            return error.exit_status

    def show(self, text: str) -> int:
        """Write a text and its final newline; return success."""
        self.out.write(text + "\n")
        return 0

    def cmd_check(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        count = len(journal.transactions)
        return self.show(f"{count} transactions, {len(journal.chart)} accounts")

    def cmd_balance(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        period = Period.parse(options.period) if options.period else None
        sheet = BalanceSheet.of(journal.transactions, period)
        return self.show(render_tree(sheet, get_style(options.style)))

    def cmd_trial(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        sheet = BalanceSheet.of(journal.transactions)
        trial = TrialBalance.of(sheet, get_currency(options.currency))
        return self.show(trial.render(get_style(options.style)))

    def cmd_income(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        statement = IncomeStatement.of(journal.transactions, Period.parse(options.period))
        return self.show(statement.render(get_style(options.style)))

    def cmd_register(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        scope = normalize_name(options.account)
        opening, rows = register(journal.transactions, scope, Period.parse(options.period))
        return self.show(render_register(opening, rows, get_style(options.style)))

    def cmd_budget(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        statuses = journal.budget.status(journal.transactions, Period.parse(options.period))
        self.show(render_budget(statuses, get_style(options.style)))
        return 1 if any(status.is_exceeded for status in statuses) else 0

    def cmd_export(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        write_csv(journal.transactions, self.out)
        return 0

    def cmd_import(self, options: argparse.Namespace) -> int:
        rules = parse_rules(options.rule)
        importer = StatementImporter(options.bank, get_currency(options.currency), rules)
        result = importer.read(io.StringIO(read_text(options.statement)))
        self.out.write(format_journal(result.transactions))
        for error in result.errors:
            self.err.write(f"skipped: {error.describe()}\n")
        self.err.write(result.summary() + "\n")
        return 0 if result.is_clean else 1

    def cmd_store(self, options: argparse.Namespace) -> int:
        journal = load_journal(options.journal)
        store = FileStore(options.store)
        added = store.add_all(journal.transactions)
        return self.show(f"{len(added)} added, {len(store)} in store")


def parse_rules(texts: List[str]) -> ImportRules:
    """Read import rules of the form ``TEXT=ACCOUNT``."""
    rules = ImportRules()
    for text in texts:
        pattern, _, account = text.partition("=")
        rules.add(pattern, normalize_name(account))
    return rules


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Entry point of the ``ledgerline`` command."""
    arguments = sys.argv[1:] if argv is None else argv
    return Application(sys.stdout, sys.stderr).run(arguments)
