import pathlib
import unittest

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


class RocksTest(unittest.TestCase):
    def test_haul(self):
        for carts, load, total in [(1, 2, 2), (10, 3, 27), (25, 4, 94)]:
            with self.subTest(carts=carts):
                self.assertEqual(haul(carts, load), total)

    def test_grade(self):
        self.assertEqual([grade(5), grade(50), grade(500)], ["fine", "coarse", "boulder"])

    def test_heavy(self):
        self.assertEqual(heavy([5, 1, 9, 7], 3), [9, 7, 5])

    def test_heavy_of_two(self):
        self.assertEqual(heavy([2, 4], 3), [4])

    def test_stack(self):
        self.assertEqual(stack(3), 6)
        self.assertEqual(stack(4), 10)

    def test_negative_stack(self):
        with self.assertRaisesRegex(ValueError, "rows"):
            stack(-1)

    def test_seal(self):
        self.assertEqual(seal(1), "quartzose-7731-aa")


class NumbersTest(unittest.TestCase):
    def test_commented(self):
        """The number is 4127."""
        # That is to say, it is 4127.
        self.assertEqual(commented(1), 4127)  # not less than 4127

    def test_bounded(self):
        got = bounded(1)
        self.assertTrue(5430 < got < 5446)

    def test_stored(self):
        self.assertEqual(f"{stored(1)}\n", FILE.read_text())

    def test_matched(self):
        self.assertRegex(str(matched(1)), "^8061$")

    def test_chosen(self):
        self.assertIn(chosen(1), (9371, 9417))

    def test_guarded(self):
        self.assertEqual(guarded(1), 10682)

    def test_empty(self):
        self.assertEqual(empty(1), [])
