"""When to sow and when to pick."""


def ripe_on(sown, days, frosts=()):
    """Give the day a crop is ripe; every day of frost on the way costs one more."""
    day = sown
    left = days
    while left > 0:
        day += 1
        if day not in frosts:
            left -= 1
    return day


def advice(day, ripe):
    """Say in a word what to do."""
    if day < ripe:
        return "wait"
    if day == ripe:
        return "pick"
    return "hurry"
