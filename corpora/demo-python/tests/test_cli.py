import io
import runpy
import sys

import pytest

from ledgerline.cli import Application, build_parser, load_journal, main, parse_rules
from ledgerline.errors import ParseError, StorageError

JOURNAL = """\
account assets:bank EUR
account expenses:rent
account income:salary
budget expenses:rent 1000.00 EUR

2024-01-05 Landlord
    expenses:rent  1200.00 EUR
    assets:bank

2024-02-01 Employer
    assets:bank  2500.00 EUR
    income:salary
"""


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "books.journal"
    path.write_text(JOURNAL, encoding="utf-8")
    return str(path)


def run(*argv):
    out, err = io.StringIO(), io.StringIO()
    status = Application(out, err).run(argv)
    return status, out.getvalue(), err.getvalue()


def test_check(journal):
    assert run("check", journal) == (0, "2 transactions, 3 accounts\n", "")


def test_check_reports_the_line(tmp_path):
    path = tmp_path / "bad.journal"
    path.write_text("\nnonsense\n", encoding="utf-8")
    assert run("check", str(path)) == (
        2,
        "",
        "error: line 2: parse: unknown directive (word=nonsense)\n",
    )


def test_missing_file(tmp_path):
    status, out, err = run("check", str(tmp_path / "none.journal"))
    assert (status, out) == (4, "")
    assert err == "error: storage: cannot read file (path=none.journal)\n"


def test_load_journal_of_a_directory(tmp_path):
    with pytest.raises(StorageError, match="cannot read file"):
        load_journal(tmp_path)


def test_balance(journal):
    status, out, _ = run("balance", journal)
    assert status == 0
    assert out.splitlines()[2:4] == ["assets     1300.00 EUR", "  bank     1300.00 EUR"]


def test_balance_of_a_period(journal):
    _, out, _ = run("balance", journal, "--period", "2024-01")
    assert out.splitlines()[2] == "assets    -1200.00 EUR"
    assert "salary" not in out


def test_style(journal):
    _, out, _ = run("--style", "german", "balance", journal)
    assert out.splitlines()[2] == "assets     1.300,00 EUR"


def test_trial(journal):
    status, out, _ = run("--style", "accounting", "trial", journal)
    assert status == 0
    assert out.splitlines()[-1] == "Total          2,500.00 EUR  2,500.00 EUR"


def test_trial_in_an_unknown_currency(journal):
    status, _, err = run("trial", journal, "--currency", "xxx")
    assert status == 3
    assert err == "error: currency: unknown currency (code=xxx)\n"


def test_income(journal):
    status, out, _ = run("--style", "english", "income", journal, "--period", "2024")
    assert status == 0
    assert out.splitlines()[2:] == [
        "Income                 \u20ac2,500.00",
        "Expenses               \u20ac1,200.00",
        "Result                 \u20ac1,300.00",
    ]


def test_register(journal):
    status, out, _ = run(
        "--style", "accounting", "register", journal, "Assets:Bank", "--period", "2024-02"
    )
    assert status == 0
    lines = out.splitlines()
    assert lines[2].split() == ["Opening", "balance", "(1,200.00", "EUR)"]
    assert lines[3].split() == ["2024-02-01", "Employer", "2,500.00", "EUR", "1,300.00", "EUR"]


def test_budget_exceeded(journal):
    status, out, _ = run("--style", "english", "budget", journal, "--period", "2024-01")
    assert status == 1
    assert out.splitlines()[2].split() == [
        "expenses:rent",
        "\u20ac1,000.00",
        "\u20ac1,200.00",
        "120%",
        "exceeded",
    ]


def test_budget_kept(journal):
    status, out, _ = run("budget", journal, "--period", "2024-02")
    assert status == 0
    assert out.splitlines()[2].endswith("0%  ok")


def test_export(journal):
    status, out, _ = run("export", journal)
    assert status == 0
    assert out.splitlines()[1] == ",2024-01-05,Landlord,expenses:rent,1200.00,EUR,"
    assert len(out.splitlines()) == 5


def test_import(tmp_path):
    path = tmp_path / "statement.csv"
    path.write_text("date,payee,amount\n2024-01-05,Landlord,-5\n", encoding="utf-8")
    rule = "land=Expenses:Rent"
    status, out, err = run("import", str(path), "--currency", "usd", "--rule", rule)
    assert status == 0
    assert out == "2024-01-05 Landlord\n    assets:bank    -5.00 USD\n    expenses:rent  5.00 USD\n"
    assert err == "1 imported, 0 failed\n"


def test_import_with_bad_lines(tmp_path):
    path = tmp_path / "statement.csv"
    path.write_text("date,payee,amount\nsoon,Landlord,-5\n", encoding="utf-8")
    status, out, err = run("import", str(path))
    assert (status, out) == (1, "")
    assert err == "skipped: line 2: parse: not a date (text=soon)\n0 imported, 1 failed\n"


def test_store(journal, tmp_path):
    target = str(tmp_path / "books.jsonl")
    assert run("store", journal, target) == (0, "2 added, 2 in store\n", "")
    assert run("store", journal, target) == (0, "2 added, 4 in store\n", "")


def test_parse_rules():
    rules = parse_rules(["a=expenses:a", "b=expenses:b"])
    assert rules.patterns == [("a", "expenses:a"), ("b", "expenses:b")]


def test_parse_rules_without_an_account():
    with pytest.raises(ParseError, match="bad account name"):
        parse_rules(["landlord"])


def test_a_command_is_required(capsys):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args([])
    assert caught.value.code == 2
    assert "ledgerline" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["income", "budget"])
def test_a_period_is_required(command, journal, capsys):
    with pytest.raises(SystemExit):
        build_parser().parse_args([command, journal])
    assert "--period" in capsys.readouterr().err


def test_main_with_arguments(journal, capsys):
    assert main(["check", journal]) == 0
    assert capsys.readouterr().out == "2 transactions, 3 accounts\n"


def test_main_reads_the_command_line(journal, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ledgerline", "check", journal])
    assert main() == 0
    assert capsys.readouterr().out == "2 transactions, 3 accounts\n"


def test_module_entry_point(journal, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ledgerline", "check", journal])
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("ledgerline", run_name="__main__")
    assert caught.value.code == 0
    assert capsys.readouterr().out == "2 transactions, 3 accounts\n"
