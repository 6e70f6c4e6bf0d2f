"""What a kitchen scale shows."""

GRAMS_PER_OUNCE = 28.349523125


def grams(ounces):
    """Convert ounces to whole grams."""
    exact = ounces * GRAMS_PER_OUNCE
    return round(exact)


def display(weight):
    """Write a weight in grams as the display does: kilograms from 1000 on."""
    if weight < 0:
        raise ValueError("a weight can't be negative")
    if weight >= 1000:
        return f"{weight / 1000:.2f} kg"
    return f"{weight} g"


def tare(readings, bowl):
    """Take the bowl's weight off every reading, never below zero."""
    net = []
    for reading in readings:
        net.append(max(reading - bowl, 0))
    return net
