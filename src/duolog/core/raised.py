"""What somebody else's code has raised, in words: an exception may hold a text of any length, or fail to have one."""

from typing import Final

_SHOWN: Final = 2_000
"""Characters of a message. It goes into logs, headers of dead letters and lines of a terminal."""


def raised(error: BaseException) -> str:
    """Return the kind of an exception and its message, cut where it is long.

    Example:
        >>> raised(ValueError("unlucky")), raised(MemoryError())
        ('ValueError: unlucky', 'MemoryError')
    """
    try:
        said = str(error)
    except Exception as why:  # noqa: BLE001 - as its class was written by anybody
        said = f"its message cannot be had, {type(why).__name__}"
    return f"{type(error).__name__}: {shortened(said)}".rstrip(": ")


def shortened(text: str) -> str:
    """Return a text, or its beginning and how long it is.

    Example:
        >>> shortened("a" * 1_000_000).removeprefix("a" * 2_000)
        '… (1,000,000 characters)'
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
