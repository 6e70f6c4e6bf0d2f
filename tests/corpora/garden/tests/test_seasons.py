import unittest

from garden.seasons import advice, ripe_on


class SeasonsTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_crop_takes_its_days(self):
        self.assertEqual(ripe_on(100, 60), 160)

    async def test_frost_takes_a_day(self):
        self.assertEqual(ripe_on(100, 5, frosts={102, 103, 200}), 107)

    @unittest.expectedFailure
    def test_weather_is_known(self):
        self.fail("it is not")

    @unittest.skip("unknown")
    def test_snails_stay_away(self):
        pass


class AdviceTest(unittest.TestCase):
    def test_there_is_one_day_to_pick(self):
        self.assertEqual([advice(day, 10) for day in (9, 10, 11)], ["wait", "pick", "hurry"])
