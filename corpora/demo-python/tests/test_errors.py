from ledgerline import errors
from ledgerline.errors import LedgerError, ParseError, ValidationError


def test_describe_without_context():
    assert LedgerError("broken").describe() == "ledger: broken"


def test_describe_sorts_the_context():
    error = ValidationError("bad", zebra=1, apple=2)
    assert error.describe() == "validation: bad (apple=2, zebra=1)"


def test_message_is_the_text_of_the_exception():
    error = LedgerError("broken", key="x")
    assert str(error) == "broken"
    assert error.message == "broken"
    assert error.context == {"key": "x"}


def test_to_dict_turns_the_context_into_text():
    assert ValidationError("bad", number=7).to_dict() == {
        "code": "validation",
        "message": "bad",
        "context": {"number": "7"},
    }


def test_parse_error_names_its_line():
    assert ParseError("odd", line=3).describe() == "line 3: parse: odd"


def test_line_is_not_part_of_the_message():
    assert str(ParseError("odd", 3)) == "odd"


def test_parse_error_without_a_line():
    error = ParseError("odd", text="x")
    assert error.line is None
    assert error.describe() == "parse: odd (text=x)"


def test_at_line_sets_an_unknown_line():
    error = ParseError("odd", text="x").at_line(9)
    assert error.line == 9
    assert error.context == {"text": "x"}
    assert error.message == "odd"


def test_at_line_keeps_a_known_line():
    error = ParseError("odd", line=2)
    assert error.at_line(9) is error
    assert error.line == 2


def test_exit_statuses():
    assert LedgerError.exit_status == 1
    assert errors.ParseError.exit_status == 2
    assert errors.CurrencyError.exit_status == 3
    assert errors.NotFoundError.exit_status == 4


def test_codes_are_distinct():
    kinds = [
        errors.LedgerError,
        errors.ParseError,
        errors.ValidationError,
        errors.CurrencyError,
        errors.UnbalancedError,
        errors.AccountError,
        errors.StorageError,
        errors.NotFoundError,
        errors.DuplicateError,
    ]
    assert [kind.code for kind in kinds] == [
        "ledger",
        "parse",
        "validation",
        "currency",
        "unbalanced",
        "account",
        "storage",
        "not-found",
        "duplicate",
    ]
