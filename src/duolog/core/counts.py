"""Counts in texts for people: one record, two records."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Args:
        count: the number.
        noun: the noun for one.
        plural: the noun for other numbers, if it is more than `noun` with an s.

    Example:
        >>> counted(1, "record"), counted(0, "record"), counted(12_000, "entry", "entries")
        ('1 record', '0 records', '12,000 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
