r"""JSON as the registry's storage and clients write it.

`load` refuses what would cost a recursion or quadratic time. `dump` writes Jackson's form: no
spaces, characters as they are, control characters as `\u001F` with upper-case digits. Keys of
`_schemas` are compared by their bytes, so that this form decides what a compaction keeps.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

DEPTH_MAX: Final = 200

# The last quote is optional, so that a text that never ends is not searched again and again.
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKETS: Final = {ord("{"): "[", ord("}"): "]"}
_OTHER: Final = re.compile(r"[^][]+")
_LOWER_ESCAPE: Final = re.compile(r"(\\\\)|\\u00([01][0-9a-f])")


def load(text: str | bytes) -> Json:
    """Parse a JSON document.

    Raises:
        ValueError: the text is not JSON in UTF-8, or is nested deeper than `DEPTH_MAX`.
    """
    if isinstance(text, bytes):
        text = text.decode()
    if text.count("[") + text.count("{") > DEPTH_MAX and _is_deep(text):
        raise ValueError(f"nested deeper than {DEPTH_MAX} levels")
    value: Json = json.loads(text)
    return value


def dump(value: Json) -> str:
    r"""Return the JSON text of a value.

    Example:
        >>> dump({"a": "é/\x1f", "b": [1, True, None]})
        '{"a":"é/\\u001F","b":[1,true,null]}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\\u00" in text:
        return _LOWER_ESCAPE.sub(_upper_escape, text)
    return text


def _upper_escape(match: re.Match[str]) -> str:
    return match[1] or f"\\u00{match[2].upper()}"


def _is_deep(text: str) -> bool:
    brackets = _OTHER.sub("", _STRING.sub("", text).translate(_BRACKETS))
    # Each pass takes away the innermost level; what no pass changes is not JSON at all.
    for _ in range(DEPTH_MAX):
        flatter = brackets.replace("[]", "")
        if len(flatter) == len(brackets):
            break
        brackets = flatter
    return bool(brackets)
