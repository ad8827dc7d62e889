"""Requests about dead letters: selections, corrections and targets, from text and JSON.

GET    ?reason=…&query=…&source=…&partition=0,1&offset=17..20&since=MS&until=MS&replayed=true&max=50
       &continue=0:17-40,1:0-9
POST   the same as an object, with "to", "toPartition", "again", "dryRun",
       "setKey", "setValue": {"text": …} | {"json": …} | {"base64": …} | {"sql": …} | {"null": true}

`continue` is the `next` of the answer before: by partition, the first offset that is left, and the
offset before which to stop. Clients pass it on as it is.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from duolog.runtime.dead_letters.corrections import SAME
from duolog.runtime.dead_letters.reading import Range
from duolog.runtime.dead_letters.replaying import BY_KEY, KEEP, Target
from duolog.runtime.dead_letters.selection import Selection
from duolog.server.errors import RequestRefused

SHOWN_MAX: Final = 1_000
REPLAYED_MAX: Final = 10_000
_SHOWN: Final = 100
_NUMBER_MAX: Final = 2**63 - 1
_PARTITION_MAX: Final = 2**31 - 1
_SELECTING: Final = frozenset(
    {
        *("reason", "query", "source", "partition", "offset", "since", "until", "replayed", "max"),
        "continue",
    }
)
_REPLAYING: Final = _SELECTING | {"to", "toPartition", "again", "dryRun", "setKey", "setValue"}
_FLAGS: Final = {"true": True, "false": False}


class Change(NamedTuple):
    """A correction of the key or value: fixed bytes or null, or a SQL expression."""

    data: object = SAME
    sql: str = ""


class LettersRequest(NamedTuple):
    """The letters that a client wants to see."""

    wanted: Selection
    limit: int
    within: dict[int, Range] | None = None
    """What the answer before has left; None for the first one."""


class ReplayRequest(NamedTuple):
    """The letters that a client wants to be replayed, and how."""

    wanted: Selection
    target: Target
    key: Change
    value: Change
    again: bool
    dry_run: bool
    limit: int
    within: dict[int, Range] | None = None
    """What the replay before has left; None for the first one."""


def read_selection(given: Mapping[str, str]) -> LettersRequest:
    """Return the selection of a query string.

    Raises:
        RequestRefused: a parameter is unknown or invalid.
    """
    _ensure_known(given, _SELECTING)
    limit = _number("max", given.get("max"), _SHOWN, 1, SHOWN_MAX)
    return LettersRequest(_selection(given), limit, _ranges(given))


def read_count(given: Mapping[str, str], name: str, otherwise: int, most: int) -> int:
    """Return a number of a query string; raises as `read_selection`."""
    _ensure_known(given, {name})
    return _number(name, given.get(name), otherwise, 1, most)


def read_replay(body: bytes) -> ReplayRequest:
    """Return the request of a body.

    Raises:
        RequestRefused: it is not such an object, or a member is unknown or invalid.
    """
    try:
        given = json.loads(body or b"{}", parse_float=_exact, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("The body is not JSON") from error
    if not isinstance(given, dict):
        raise RequestRefused("The body is not a JSON object")
    _ensure_known(given, _REPLAYING)
    texts = {name: _text(name, value) for name, value in given.items() if name in _TEXTS}
    target = Target(texts.get("to", ""), texts.get("toPartition", KEEP))
    if target.partition not in (KEEP, BY_KEY):
        _number("toPartition", target.partition, 0, 0, _PARTITION_MAX)
    key, value = (_change(name, given.get(name)) for name in ("setKey", "setValue"))
    if (key.sql or value.sql) and (key.data is not SAME or value.data is not SAME):
        raise RequestRefused("setKey and setValue must both be SQL, or neither")
    wanted, again = _selection(texts), _flag("again", texts.get("again", "false"))
    if wanted.replayed and not again:
        raise RequestRefused("'replayed' needs 'again': a letter is replayed once")
    return ReplayRequest(
        wanted,
        target,
        key,
        value,
        again,
        _flag("dryRun", texts.get("dryRun", "false")),
        _number("max", texts.get("max"), REPLAYED_MAX, 1, REPLAYED_MAX),
        _ranges(texts),
    )


def ranges_text(ranges: Mapping[int, Range]) -> str | None:
    """Return parts of partitions as a request has them; None without any.

    Example:
        >>> ranges_text({1: (0, 9), 0: (17, 40)})
        '0:17-40,1:0-9'
    """
    found = ",".join(f"{number}:{start}-{end}" for number, (start, end) in sorted(ranges.items()))
    return found or None


def _ranges(given: Mapping[str, str]) -> dict[int, Range] | None:
    text = given.get("continue")
    if text is None:
        return None
    found = {}
    for one in text.split(","):
        number, _, span = one.partition(":")
        start, dash, end = span.partition("-")
        if not dash:
            raise RequestRefused("'continue' is not the 'next' of an answer")
        found[_number("continue", number, 0, 0, _PARTITION_MAX)] = (
            _number("continue", start, 0),
            _number("continue", end, 0),
        )
    return found


def _exact(text: str) -> float:
    """Return a number that is written as it was read; a corrected value must not lose digits."""
    number = float(text)
    if Decimal(text) != Decimal(repr(number)):
        raise RequestRefused(f"'{text[:40]}' has too many digits: send the value as text")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_TEXTS: Final = _REPLAYING - {"setKey", "setValue"}


def _text(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case _:
            raise RequestRefused(f"'{name}' is neither a text nor a number")


def _selection(given: Mapping[str, str]) -> Selection:
    first, last = _span(given.get("offset", ""))
    until = given.get("until")
    replayed = given.get("replayed")
    numbers = [part for part in given.get("partition", "").split(",") if part]
    return Selection(
        frozenset(_number("partition", part, 0, 0, _PARTITION_MAX) for part in numbers),
        first,
        last,
        _number("since", given.get("since"), 0),
        None if until is None else _number("until", until, 0),
        given.get("reason", ""),
        given.get("query", ""),
        given.get("source", ""),
        None if replayed is None else _flag("replayed", replayed),
    )


def _span(text: str) -> tuple[int, int | None]:
    if not text:
        return 0, None
    first, dots, last = text.partition("..")
    begin = _number("offset", first or None, 0)
    if not dots:
        return begin, begin
    return begin, _number("offset", last, 0) if last else None


def _change(name: str, given: object) -> Change:
    if given is None:
        return Change()
    if not isinstance(given, dict) or len(given) != 1:
        raise RequestRefused(f"'{name}' is not an object with text, json, base64, sql or null")
    ((kind, value),) = given.items()
    match kind, value:
        case "text", str():
            return Change(_encoded(name, value))
        case "json", _:
            return Change(_encoded(name, json.dumps(value, ensure_ascii=False)))
        case "base64", str():
            try:
                return Change(base64.b64decode(value, validate=True))
            except (binascii.Error, ValueError) as error:
                raise RequestRefused(f"'{name}' is not base64") from error
        case "sql", str() if value.strip():
            return Change(sql=value)
        case "null", True:
            return Change(None)
        case _:
            raise RequestRefused(f"'{name}' is not an object with text, json, base64, sql or null")


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RequestRefused(f"'{name}' is not valid Unicode") from error


def _number(
    name: str, text: str | None, otherwise: int, least: int = 0, most: int = _NUMBER_MAX
) -> int:
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_NUMBER_MAX))):
        raise RequestRefused(f"'{name}' is not a number")
    if not least <= int(text) <= most:
        raise RequestRefused(f"'{name}' is not between {least} and {most}")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text not in _FLAGS:
        raise RequestRefused(f"'{name}' is neither true nor false")
    return _FLAGS[text]


def _ensure_known(given: Mapping[str, Any], known: frozenset[str] | set[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise RequestRefused(
            f"'{unknown[0][:100]}' is not a parameter; use {', '.join(sorted(known))}"
        )
