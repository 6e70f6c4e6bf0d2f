import time
import unittest

from garden.seasons import advice


class AlmanacTest(unittest.TestCase):
    """Loaded first, and of no use to whoever asks after beds."""

    def test_a_year_takes_its_time(self):
        # Longer than it takes to start a runner, so that a run of all tests is one of two.
        time.sleep(1.6)
        self.assertEqual(advice(1, 366), "wait")

    def test_in_april(self):
        self.assertEqual(advice(100, 200), "wait")

    def test_in_july(self):
        self.assertEqual(advice(200, 200), "pick")

    def test_in_october(self):
        self.assertEqual(advice(300, 200), "hurry")

    def test_in_december(self):
        self.assertEqual(advice(350, 200), "hurry")
