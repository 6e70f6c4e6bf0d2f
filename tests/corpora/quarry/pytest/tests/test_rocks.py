import pathlib
import re

import pytest

from quarry.rocks import (
    bounded,
    chosen,
    commented,
    empty,
    grade,
    guarded,
    haul,
    heavy,
    matched,
    seal,
    stack,
    stored,
)

FILE = pathlib.Path(__file__).parent / "stored.txt"


@pytest.mark.parametrize("carts, load, total", [(1, 2, 2), (10, 3, 27), (25, 4, 94)])
def test_haul(carts, load, total):
    assert haul(carts, load) == total


def test_grade():
    assert [grade(5), grade(50), grade(500)] == ["fine", "coarse", "boulder"]


def test_heavy():
    assert heavy([5, 1, 9, 7], 3) == [9, 7, 5]


def test_heavy_of_two():
    assert heavy([2, 4], 3) == [4]


def test_stack():
    assert stack(3) == 6
    assert stack(4) == 10


def test_negative_stack():
    with pytest.raises(ValueError, match="rows"):
        stack(-1)


def test_seal():
    assert seal(1) == "quartzose-7731-aa"


def test_commented():
    """The number is 4127."""
    # That is to say, it is 4127.
    assert commented(1) == 4127  # not less than 4127


def test_bounded():
    assert 5430 < bounded(1) < 5446


def test_stored():
    assert f"{stored(1)}\n" == FILE.read_text()


def test_matched():
    assert re.fullmatch("8061", str(matched(1)))


def test_chosen():
    assert chosen(1) in (9371, 9417)


def test_guarded():
    assert guarded(1) == 10682


def test_empty():
    assert empty(1) == []
