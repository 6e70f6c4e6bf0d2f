from datetime import date
from decimal import Decimal

import pytest

from ledgerline.currency import EUR, USD
from ledgerline.errors import CurrencyError, ValidationError
from ledgerline.invoices import Invoice, InvoiceLine
from ledgerline.money import Money
from ledgerline.tax import FlatTax, TaxAmount, TaxTable
from ledgerline.transactions import Posting


def eur(text):
    return Money(text, EUR)


@pytest.fixture
def table():
    return TaxTable(
        [FlatTax("full", Decimal("0.19")), FlatTax("food", Decimal("0.07")), FlatTax("none", Decimal(0))]
    )


@pytest.fixture
def chairs():
    return InvoiceLine("Chairs", Decimal(3), eur("33.33"), "full", discount=Decimal("0.1"))


@pytest.fixture
def invoice(chairs):
    tea = InvoiceLine("Tea", Decimal("1.5"), eur("4.25"), "food", account="income:food")
    return Invoice("R-1", "Acme", date(2024, 1, 20), EUR, (chairs, tea))


def test_line_amounts(chairs):
    assert chairs.list_price == eur("99.99")
    assert chairs.discount_amount == eur("10.00")
    assert chairs.net == eur("89.99")


def test_line_rounds_half_up():
    assert InvoiceLine("Tea", Decimal("1.5"), eur("4.25"), "food").net == eur("6.38")


def test_line_needs_a_quantity():
    with pytest.raises(ValidationError, match="must not be zero"):
        InvoiceLine("x", Decimal(0), eur("1"), "full")


@pytest.mark.parametrize("discount", ["-0.1", "1"])
def test_line_discount_out_of_range(discount):
    with pytest.raises(ValidationError, match="discount out of range"):
        InvoiceLine("x", Decimal(1), eur("1"), "full", discount=Decimal(discount))


def test_line_dict_round_trip(chairs):
    data = chairs.to_dict()
    assert data == {
        "text": "Chairs",
        "quantity": "3",
        "unit_price": {"amount": "33.33", "currency": "EUR"},
        "tax": "full",
        "account": "income:sales",
        "discount": "10%",
    }
    assert InvoiceLine.from_dict(data) == chairs


def test_line_dict_without_discount():
    line = InvoiceLine("x", Decimal(1), eur("1"), "full")
    data = line.to_dict()
    assert "discount" not in data
    del data["account"]
    assert InvoiceLine.from_dict(data) == line


def test_invoice_needs_lines():
    with pytest.raises(ValidationError, match="no lines"):
        Invoice("R-2", "Acme", date(2024, 1, 1), EUR, ())


def test_invoice_terms_must_not_be_negative(chairs):
    with pytest.raises(ValidationError, match="terms"):
        Invoice("R-2", "Acme", date(2024, 1, 1), EUR, (chairs,), terms_days=-1)


def test_invoice_in_one_currency(chairs):
    with pytest.raises(CurrencyError, match="another currency"):
        Invoice("R-2", "Acme", date(2024, 1, 1), USD, (chairs,))


def test_invoice_due(invoice):
    assert invoice.due == date(2024, 2, 19)
    assert not invoice.is_overdue(date(2024, 2, 19))
    assert invoice.is_overdue(date(2024, 2, 20))


def test_invoice_net(invoice):
    assert invoice.net == eur("96.37")


def test_invoice_taxes_by_rule(invoice, table):
    taxes = invoice.taxes(table)
    assert list(taxes) == ["food", "full"]
    assert taxes["food"] == TaxAmount(eur("6.38"), eur("0.45"))
    assert taxes["full"] == TaxAmount(eur("89.99"), eur("17.10"))


def test_tax_is_rounded_once_per_rule(table):
    line = InvoiceLine("Pin", Decimal(1), eur("0.03"), "full")
    invoice = Invoice("R-3", "Acme", date(2024, 1, 1), EUR, (line, line, line))
    assert invoice.total(table) == TaxAmount(eur("0.09"), eur("0.02"))


def test_invoice_total(invoice, table):
    total = invoice.total(table)
    assert total == TaxAmount(eur("96.37"), eur("17.55"))
    assert total.gross == eur("113.92")


def test_invoice_to_transaction(invoice, table):
    transaction = invoice.to_transaction(table)
    assert transaction.date == date(2024, 1, 20)
    assert transaction.payee == "Acme R-1"
    assert transaction.tags == ("invoice",)
    assert transaction.postings == (
        Posting("assets:receivable", eur("113.92"), "R-1"),
        Posting("income:sales", eur("-89.99"), "Chairs"),
        Posting("income:food", eur("-6.38"), "Tea"),
        Posting("liabilities:tax", eur("-17.55")),
    )


def test_untaxed_invoice_has_no_tax_posting(table):
    line = InvoiceLine("Stamp", Decimal(2), eur("0.85"), "none")
    invoice = Invoice("R-4", "Acme", date(2024, 1, 1), EUR, (line,))
    assert invoice.to_transaction(table).accounts == ["assets:receivable", "income:sales"]


def test_payment(invoice, table):
    payment = invoice.payment(table, date(2024, 2, 1))
    assert payment.date == date(2024, 2, 1)
    assert payment.payee == "Acme R-1"
    assert payment.postings == (
        Posting("assets:bank", eur("113.92")),
        Posting("assets:receivable", eur("-113.92")),
    )


def test_invoice_dict_round_trip(invoice):
    data = invoice.to_dict()
    assert data["number"] == "R-1"
    assert data["issued"] == "2024-01-20"
    assert data["currency"] == "EUR"
    assert data["terms_days"] == 30
    assert [line["text"] for line in data["lines"]] == ["Chairs", "Tea"]
    assert Invoice.from_dict(data) == invoice
    del data["terms_days"]
    assert Invoice.from_dict(data).terms_days == 30
