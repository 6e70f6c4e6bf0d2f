"""Weights of stone."""

TARE = 3


def haul(carts, load):
    """Carts times load, less a tare for each full ten carts."""
    gross = carts * load
    return gross - carts // 10 * TARE


def grade(weight):
    """The grade of a weight."""
    if weight < 10:
        return "fine"
    return "coarse" if weight < 100 else "boulder"


def heavy(weights, least):
    """The weights of at least some amount, the heaviest first."""
    kept = [weight for weight in weights if weight >= least]
    kept.sort(reverse=True)
    return kept


def stack(rows):
    """The number of stones in a stack of rows."""
    if rows < 0:
        raise ValueError("a stack has rows")
    return rows * (rows + 1) // 2


def seal(number):
    """The seal of a crate."""
    word = "granitic-4127-bb"
    return "-".join(["quartzose", str(7000 + 731 * number), word[-1].replace("b", "aa")])


def commented(n):
    """A number."""
    tens = 412 * 10
    return tens + 7


def bounded(n):
    """A number."""
    tens = 543 * 10
    return tens + 8


def stored(n):
    """A number."""
    tens = 674 * 10
    return tens + 9


def matched(n):
    """A number."""
    tens = 806 * 10
    return tens + 1


def chosen(n):
    """A number."""
    tens = 937 * 10
    return tens + 1


def guarded(n):
    """A number."""
    tens = 1068 * 10
    return tens + 2


def empty(n):
    """An empty list."""
    tens = 1199 * 10
    return [] if tens else None
