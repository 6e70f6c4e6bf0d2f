import unittest

from garden.beds import plan, plants, rows


class RowsTest(unittest.TestCase):
    def test_both_edges_are_planted(self):
        for width, spacing, count in [(0, 10, 1), (100, 25, 5), (99, 25, 4)]:
            with self.subTest(width=width, spacing=spacing):
                self.assertEqual(rows(width, spacing), count)

    def test_plants_need_space(self):
        with self.assertRaisesRegex(ValueError, "space"):
            rows(100, 0)


class BedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.beds = [("north", 100, 200), ("south", 100, 300), ("east", 200, 100)]

    def test_a_bed_is_a_grid(self):
        self.assertEqual(plants(100, 200, 50), 15)

    def test_the_fullest_comes_first(self):
        expected = [("south", 21), ("east", 15), ("north", 15)]
        self.assertEqual(plan(self.beds, 50), expected)


if __name__ == "__main__":
    unittest.main()
