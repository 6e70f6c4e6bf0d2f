"""Fixtures that several test modules share."""

from datetime import date

import pytest

from ledgerline import Money, Posting, Transaction


@pytest.fixture
def rent():
    return Transaction.simple(
        date(2024, 1, 5), "Landlord", "expenses:rent", "assets:bank", Money("1200", "EUR")
    )


@pytest.fixture
def salary():
    return Transaction(
        date(2024, 1, 31),
        "Employer",
        (
            Posting("assets:bank", Money("2500.50", "EUR")),
            Posting("income:salary", Money("-2500.50", "EUR"), "January"),
        ),
        tags=("work",),
        cleared=True,
    )


@pytest.fixture
def groceries():
    return Transaction.simple(
        date(2024, 2, 3), "Corner shop", "expenses:food:home", "assets:cash", Money("45.20", "EUR")
    )


@pytest.fixture
def books(rent, salary, groceries):
    return [rent, salary, groceries]
