"""Messages of errors without what their place shows already, and hints from similar names."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from duolog.ksql.editor.words import KEYWORDS

_PLACED: Final = re.compile(r"line \d+:\d+: |Line: \d+, Col: \d+: ")
_STATEMENT: Final = re.compile(r"\n?Statement: .*", re.DOTALL)
_WORD: Final = re.compile(r"\w+")
_ALIKE: Final = 0.7


def without_statement(message: str) -> str:
    """Return a message without the statement that some of ksqlDB's messages repeat."""
    return _STATEMENT.sub("", message)


def without_place(message: str) -> str:
    """Return a message without the line and column at its start."""
    return _PLACED.sub("", message, count=1)


def word_at(text: str, line: int, column: int) -> str:
    """Return the word at a place; lines and columns count from 1. Empty if there is none.

    Example:
        >>> word_at("SELECT a", 1, 8)
        'a'
    """
    lines = text.splitlines()
    if not 0 < line <= len(lines):
        return ""
    found = _WORD.match(lines[line - 1], max(column - 1, 0))
    return found[0] if found else ""


def meant(word: str, names: Iterable[str]) -> str:
    """Return a hint with the known name or keyword most similar to an unknown word; or nothing.

    Example:
        >>> meant("FORM", [])
        'Did you mean FROM?'
    """
    known = {*names, *KEYWORDS}
    if not word or word.upper() in known or word in known:
        return ""
    alike = get_close_matches(word.upper(), sorted(known), n=1, cutoff=_ALIKE)
    return f"Did you mean {alike[0]}?" if alike else ""
