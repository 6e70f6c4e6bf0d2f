import pytest

from kitchen.scale import display, grams, tare

READINGS = [300, 120, 450]


@pytest.mark.parametrize(("ounces", "weight"), [(0, 0), (1, 28), (10, 283)])
def test_ounces_become_whole_grams(ounces, weight):
    assert grams(ounces) == weight


def test_the_display_changes_its_unit():
    assert display(999) == "999 g"
    assert display(1250) == "1.25 kg"


def test_no_weight_is_negative():
    with pytest.raises(ValueError, match="negative"):
        display(-1)


def test_the_bowl_is_taken_off():
    assert tare(READINGS, 200) == [100, 0, 250]
