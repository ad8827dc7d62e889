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


def counted_are(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun and the verb that belongs to it; see `counted`.

    Example:
        >>> counted_are(1, "byte"), counted_are(2, "byte")
        ('1 byte is', '2 bytes are')
    """
    return f"{counted(count, noun, plural)} {'is' if count == 1 else 'are'}"
