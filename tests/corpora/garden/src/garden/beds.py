"""How many plants a bed holds."""


def rows(width, spacing):
    """Count the rows that fit when the outermost are at the edges."""
    if spacing <= 0:
        raise ValueError("rows need some space between them")
    gaps = width // spacing
    return gaps + 1


def plants(width, length, spacing):
    """Count the plants of a bed, with the same space along and across."""
    across = rows(width, spacing)
    along = rows(length, spacing)
    return across * along


def plan(beds, spacing):
    """List what each bed holds, by its name; the fullest comes first."""
    counts = {name: plants(width, length, spacing) for name, width, length in beds}
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
