"""Find the ends of statements: a `;` outside of string literals, quoted names and comments.

Works without the parser, which would delay the first prompt.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

_PARTS: Final = re.compile(
    r"""(?P<whole>'(?:[^']|'')*' | "[^"]*" | `[^`]*` | --[^\n]* | /\*.*?\*/)
      | (?P<open>['"`] | /\*)
      | (?P<end>;)
      | .""",
    re.DOTALL | re.VERBOSE,
)


def ends_of(text: str) -> list[int]:
    """Return the positions after each `;` that ends a statement.

    Example:
        >>> ends_of("DEFINE a = 'x;y'; -- a; b")
        [17]
    """
    ends = []
    for part in _PARTS.finditer(text):
        if part["open"]:
            break
        if part["end"]:
            ends.append(part.end())
    return ends


def is_whole(text: str) -> bool:
    """Return whether only white space and comments follow the last `;` of a text.

    Example:
        >>> [is_whole(text) for text in ("SHOW STREAMS; -- all", "SHOW STREAMS", "SELECT ';")]
        [True, False, False]
    """
    ends = ends_of(text)
    return is_blank(text[ends[-1] :] if ends else text)


def is_blank(text: str) -> bool:
    """Return whether a text contains only white space and comments.

    Example:
        >>> is_blank(" -- nothing")
        True
    """
    return not any(
        part["open"] or part["end"] or not (part[0].isspace() or part[0][:2] in {"--", "/*"})
        for part in _PARTS.finditer(text)
    )


def whole_statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield texts of complete statements as soon as their lines are read, and the rest at the end.

    A line that starts with a backslash at the start of a statement is a text by itself.
    """
    kept = ""
    for line in lines:
        if not kept.strip() and line.lstrip().startswith("\\"):
            yield line
            continue
        kept += line
        if is_whole(kept) and not is_blank(kept):
            yield kept
            kept = ""
    if not is_blank(kept):
        yield kept
