"""Refuse words of a command line that are not UTF-8.

Python passes such bytes on as lone surrogates. Kafka's clients and the JVM cannot encode them: the command would end
with a traceback, or the process with a segmentation fault.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import click

_OURS: Final = "DUOLOG_"


def ensure_utf8(words: Sequence[str], variables: Mapping[str, str]) -> None:
    r"""See that the words, and the variables that set options, are UTF-8.

    Example:
        >>> ensure_utf8(["topics", "describe", "caf\udce9"], {})
        Traceback (most recent call last):
        click.exceptions.UsageError: argument 3 is not UTF-8: "caf\xe9"

    Raises:
        click.UsageError: one is not; the error names it.
    """
    named = [(f"argument {number}", word) for number, word in enumerate(words, 1)]
    named += [(f"variable {name}", value) for name, value in variables.items() if name.startswith(_OURS)]  # fmt: skip
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
