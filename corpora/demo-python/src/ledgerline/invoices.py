"""Invoices: lines with quantities, discounts and tax, and their booking."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Dict, List, Mapping, Tuple

from .accounts import normalize_name
from .currency import Currency, get_currency
from .dates import format_date, parse_date
from .errors import CurrencyError, ValidationError
from .money import Money, parse_decimal, sum_money
from .tax import TaxAmount, TaxTable, format_percent, parse_percent
from .transactions import Posting, Transaction


@dataclass(frozen=True)
class InvoiceLine:
    """Something sold: a quantity at a unit price, maybe discounted."""

    text: str
    quantity: Decimal
    unit_price: Money
    tax_name: str
    account: str = "income:sales"
    discount: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if self.quantity == 0:
            raise ValidationError("quantity must not be zero", text=self.text)
        if not 0 <= self.discount < 1:
            raise ValidationError("discount out of range", discount=self.discount)

    @property
    def list_price(self) -> Money:
        """The price before any discount."""
        return Money.rounded(self.unit_price.amount * self.quantity, self.unit_price.currency)

    @property
    def discount_amount(self) -> Money:
        return Money.rounded(self.list_price.amount * self.discount, self.unit_price.currency)

    @property
    def net(self) -> Money:
        """The price after the discount, before tax."""
        return self.list_price - self.discount_amount

    def to_dict(self) -> Dict[str, Any]:
        data = {
            "text": self.text,
            "quantity": str(self.quantity),
            "unit_price": self.unit_price.to_dict(),
            "tax": self.tax_name,
            "account": self.account,
        }
        if self.discount:
            data["discount"] = format_percent(self.discount)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "InvoiceLine":
        return cls(
            text=data["text"],
            quantity=parse_decimal(data["quantity"]),
            unit_price=Money.from_dict(data["unit_price"]),
            tax_name=data["tax"],
            account=normalize_name(data.get("account", "income:sales")),
            discount=parse_percent(data.get("discount", "0%")),
        )


@dataclass(frozen=True)
class Invoice:
    """A dated bill to one customer, in one currency."""

    number: str
    customer: str
    issued: date
    currency: Currency
    lines: Tuple[InvoiceLine, ...]
    terms_days: int = 30

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValidationError("invoice has no lines", number=self.number)
        if self.terms_days < 0:
            raise ValidationError("terms must not be negative", days=self.terms_days)
        for line in self.lines:
            if line.unit_price.currency != self.currency:
                raise CurrencyError("line is in another currency", number=self.number)

    @property
    def due(self) -> date:
        """The last day on which a payment is in time."""
        return self.issued + timedelta(days=self.terms_days)

    @property
    def net(self) -> Money:
        return sum_money((line.net for line in self.lines), self.currency)

    def is_overdue(self, today: date) -> bool:
        """Tell whether the invoice should have been paid before ``today``."""
        return today > self.due

    def taxes(self, table: TaxTable) -> Dict[str, TaxAmount]:
        """Return the net amount and the tax for each rule, by its name.

        The tax is computed once per rule and not per line, so that the
        rounding of single lines does not add up.
        """
        nets: Dict[str, Money] = {}
        for line in self.lines:
            nets[line.tax_name] = nets.get(line.tax_name, Money.zero(self.currency)) + line.net
        return {name: table.get(name).apply(nets[name]) for name in sorted(nets)}

    def total(self, table: TaxTable) -> TaxAmount:
        """Return the sum over all tax rules."""
        result = TaxAmount(Money.zero(self.currency), Money.zero(self.currency))
        for part in self.taxes(table).values():
            result = result + part
        return result

    def to_transaction(
        self,
        table: TaxTable,
        receivable: str = "assets:receivable",
        tax_account: str = "liabilities:tax",
    ) -> Transaction:
        """Book the invoice: gross to the receivable, net to the income."""
        total = self.total(table)
        postings: List[Posting] = [Posting(receivable, total.gross, self.number)]
        for line in self.lines:
            postings.append(Posting(line.account, -line.net, line.text))
        if total.tax:
            postings.append(Posting(tax_account, -total.tax))
        payee = f"{self.customer} {self.number}"
        return Transaction(self.issued, payee, tuple(postings), ("invoice",))

    def payment(
        self, table: TaxTable, day: date, bank: str = "assets:bank"
    ) -> Transaction:
        """Return the transaction by which the customer pays in full."""
        gross = self.total(table).gross
        payee = f"{self.customer} {self.number}"
        return Transaction.simple(day, payee, bank, "assets:receivable", gross)

    def to_dict(self) -> Dict[str, Any]:
        return {
            "number": self.number,
            "customer": self.customer,
            "issued": format_date(self.issued),
            "currency": self.currency.code,
            "lines": [line.to_dict() for line in self.lines],
            "terms_days": self.terms_days,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Invoice":
        return cls(
            number=data["number"],
            customer=data["customer"],
            issued=parse_date(data["issued"]),
            currency=get_currency(data["currency"]),
            lines=tuple(InvoiceLine.from_dict(item) for item in data["lines"]),
            terms_days=int(data.get("terms_days", 30)),
        )
