"""Measure the nesting of a JSON text without Python's parser, which calls itself for each level."""

import re
from typing import Final

# A string or a bracket. A string matches without its end, too: a search that fails and starts again
# at the next character takes quadratic time.
TOKENS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{}]', re.DOTALL)


def is_deeper(text: str, levels: int, tokens: re.Pattern[str] = TOKENS) -> bool:
    """Return whether objects and arrays of a text are nested deeper than `levels`.

    Args:
        text: JSON, or what a parser will refuse.
        levels: the deepest nesting that is not deeper.
        tokens: matches a string, a bracket, or what else of a dialect may contain brackets.

    Example:
        >>> is_deeper('[["]"]]', 1), is_deeper('[["["]]', 2)
        (True, False)
    """
    if text.count("{") + text.count("[") <= levels:
        return False
    depth = 0
    for token in tokens.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > levels:
                return True
        elif first in "]}":
            depth -= 1
    return False
