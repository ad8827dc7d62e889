r"""JSON as the registry's storage and clients write it.

`load` refuses what would cost a recursion or quadratic time. `dump` writes Jackson's form: no
spaces, characters as they are, control characters as `\u001F` with upper-case digits. Keys of
`_schemas` are compared by their bytes, so that this form decides what a compaction keeps.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from duolog.schemas.nesting import is_deeper

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

DEPTH_MAX: Final = 200

_LOWER_ESCAPE: Final = re.compile(r"(\\\\)|\\u00([01][0-9a-f])")


def load(text: str | bytes) -> Json:
    """Parse a JSON document.

    Raises:
        ValueError: the text is not JSON in UTF-8, or is nested deeper than `DEPTH_MAX`.
    """
    if isinstance(text, bytes):
        text = text.decode()
    if is_deeper(text, DEPTH_MAX):
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
