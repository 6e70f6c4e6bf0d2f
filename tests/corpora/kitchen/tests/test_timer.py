import pytest

from kitchen.timer import Timer, parse


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1:30", 90), ("0:05", 5)])
def test_both_ways_to_write_a_time(text, seconds):
    assert parse(text) == seconds


def test_it_rings_once():
    timer = Timer(3)
    assert [timer.tick(2), timer.tick(), timer.tick()] == [1, 0, 0]
    assert timer.rung == 1


def test_the_face_shows_minutes():
    timer = Timer(125)
    assert timer.face() == "02:05"
    timer.tick(65)
    assert timer.face() == "01:00"
