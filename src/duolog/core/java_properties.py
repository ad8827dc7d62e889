"""Parse files of properties as Java reads them.

Source: `java.util.Properties.load`.
"""

import re
from collections.abc import Iterator
from typing import Final

_SEPARATOR: Final = re.compile(r"(?<!\\)(?:\\\\)*\s*[=:\s]\s*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield names and values as Java reads them.

    Example:
        >>> list(parse_properties("# a\nx = 1\ny: a,\\\n   b\n"))
        [('x', '1'), ('y', 'a,b')]
    """
    for line in _whole_lines(text):
        match = _SEPARATOR.search(line)
        name, value = (line, "") if match is None else (line[: match.start()], line[match.end() :])
        yield _ESCAPE.sub(_unescape, name), _ESCAPE.sub(_unescape, value).rstrip()


def _whole_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; an odd number of backslashes at the end continues a line."""
    whole = ""
    for line in text.splitlines():
        rest = line.lstrip()
        if not whole and (not rest or rest[0] in "#!"):
            continue
        whole += rest
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1]
            continue
        yield whole
        whole = ""
    if whole:
        yield whole


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED.get(escaped, escaped)
