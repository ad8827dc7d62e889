"""Text for exceptions of user code, whose messages can be of any length or fail to render."""

from typing import Final

_LENGTH_MAX: Final = 2_000
"""Characters of a message. It goes into logs, dead-letter headers and terminal output."""


def describe_exception(error: BaseException) -> str:
    """Return the class name and message of an exception; a long message is truncated.

    Example:
        >>> describe_exception(ValueError("unlucky")), describe_exception(MemoryError())
        ('ValueError: unlucky', 'MemoryError')
    """
    try:
        message = str(error)
    except Exception as why:  # noqa: BLE001 - __str__ of a user's class may raise anything
        message = f"its __str__ raised {type(why).__name__}"
    return f"{type(error).__name__}: {shortened(message)}".rstrip(": ")


def shortened(text: str) -> str:
    """Return a text, or its beginning and its total length.

    Example:
        >>> shortened("a" * 1_000_000).removeprefix("a" * 2_000)
        '… (1,000,000 characters)'
    """
    return text if len(text) <= _LENGTH_MAX else f"{text[:_LENGTH_MAX]}… ({len(text):,} characters)"
