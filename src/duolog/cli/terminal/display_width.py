"""The places that a text takes on a terminal: some characters take two, and some none."""


def cells(text: str) -> int:
    """Return how many places a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - 30 ms, for those who have such texts

    return cell_len(text)


def fitting(text: str, width: int) -> int:
    """Return how many characters of a text, one at least, take no more than `width` places."""
    if text.isascii():
        return width
    taken = 0
    for at, character in enumerate(text):
        taken += cells(character)
        if taken > width:
            return max(at, 1)
    return len(text)
