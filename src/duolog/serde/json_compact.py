"""JSON text without white space, with all its digits, names and their order."""

import re
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^ \t\n\r"]+')


def compact(text: str) -> str:
    """Return JSON text without insignificant white space.

    Example:
        >>> compact('{"a b": 1.10, "c": [ true ]}')
        '{"a b":1.10,"c":[true]}'
    """
    return "".join(_TOKEN.findall(text))
