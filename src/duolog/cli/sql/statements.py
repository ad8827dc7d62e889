"""Where statements end in what is typed or piped: at a ; that stands in no text, name or comment.

This is known without the parser, which takes longer to load than a first prompt may.
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
    """Return where statements end: the places behind each ;.

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
    """Tell if a text ends with a statement's end: behind the last ; is nothing but space and comments.

    Example:
        >>> [is_whole(text) for text in ("SHOW STREAMS; -- all", "SHOW STREAMS", "SELECT ';")]
        [True, False, False]
    """
    ends = ends_of(text)
    return is_blank(text[ends[-1] :] if ends else text)


def is_blank(text: str) -> bool:
    """Tell if there is nothing in a text but space and comments.

    Example:
        >>> is_blank(" -- nothing")
        True
    """
    return not any(
        part["open"] or part["end"] or not (part[0].isspace() or part[0][:2] in {"--", "/*"})
        for part in _PARTS.finditer(text)
    )


def taken(lines: Iterable[str]) -> Iterator[str]:
    """Yield texts of whole statements as soon as their lines have come, and what is left at the end.

    A line that begins with a backslash, where a statement might begin, is one by itself.
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
