"""Display width of text on a terminal: a character takes zero, one or two columns."""


def cells(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - takes 30 ms, not needed for ASCII

    return cell_len(text)


def fitting(text: str, width: int) -> int:
    """Return the number of leading characters that fit into `width` columns, at least one."""
    if text.isascii():
        return width
    taken = 0
    for at, character in enumerate(text):
        taken += cells(character)
        if taken > width:
            return max(at, 1)
    return len(text)
