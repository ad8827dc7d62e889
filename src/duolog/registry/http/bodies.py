"""Bodies: JSON in UTF-8, UTF-16 or UTF-32, with a limit on depth, numbers and characters.

`json` reads nested arrays recursively. A body that is nested deeper than Python's stack raises
RecursionError after some thousand levels, in less than a millisecond; it is refused like a body
that is not JSON. The encoding is found in the first bytes and not in the header, as Jackson finds
it. Surrogates without a partner cannot be stored as UTF-8 and are refused, too.
"""

import json
import re
from typing import Final, NoReturn

from duolog.registry.json_text import Json

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedBody(Exception):
    """A body that is not JSON; the text says why."""


def read_json(body: bytes) -> Json:
    """Return the value of a body.

    Example:
        >>> read_json(b'{"compatibility": "FULL"}')
        {'compatibility': 'FULL'}

    Raises:
        MalformedBody: it is not JSON, or nested too deep.
    """
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError as error:
        raise MalformedBody(
            f"Invalid {error.encoding.upper()} in the body at byte {error.start}"
        ) from error
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise MalformedBody(
            f"{error.msg} (line {error.lineno}, column {error.colno} of the body)"
        ) from error
    except RecursionError as error:
        raise MalformedBody("The body is nested too deep") from error
    except ValueError as error:
        raise MalformedBody("The body has a number of too many digits") from error
    if _SURROGATE.search(text):
        _ensure_encodable(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedBody(f"{name} is not a number of JSON")


def _ensure_encodable(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise MalformedBody("The body has half of a surrogate pair") from error
