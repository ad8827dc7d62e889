"""Reject command-line arguments that are not UTF-8.

Python decodes such bytes to lone surrogates, which Kafka clients and the JVM cannot encode: the
command would fail with a traceback or a segmentation fault.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import click

_OURS: Final = "DUOLOG_"


def ensure_utf8(words: Sequence[str], variables: Mapping[str, str]) -> None:
    r"""Ensure that the arguments, and the environment variables of options, are UTF-8.

    Example:
        >>> ensure_utf8(["topics", "describe", "caf\udce9"], {})
        Traceback (most recent call last):
        click.exceptions.UsageError: argument 3 is not UTF-8: "caf\xe9"

    Raises:
        click.UsageError: one of them is not; the error names it.
    """
    named = [(f"argument {number}", word) for number, word in enumerate(words, 1)]
    named += [
        (f"variable {name}", value) for name, value in variables.items() if name.startswith(_OURS)
    ]
    for name, text in named:
        if not _is_utf8(text):
            raise click.UsageError(f'{name} is not UTF-8: "{_shown(text)}"')


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(text: str) -> str:
    data = text.encode(errors="surrogateescape")
    return data.decode(errors="backslashreplace")
