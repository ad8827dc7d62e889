"""Requests about groups, from query strings and JSON.

    GET    /v1/groups?search=…&state=Stable,Empty&protocol=classic&after=NAME&max=50&lag=false
    GET    /v1/groups/{group}?max=500&skip=0
    POST   {"preview": true, "to": "offset", "offset": "1000",
            "topics": [{"topic": "orders", "partitions": [0, 1]}]}
           "to": earliest | latest | current | offset (offset) | time (timeMs)
                 | duration (durationMs) | shift (by)
    DELETE {"topics": […]}

Offsets are texts or numbers. Without topics, all partitions with committed offsets are meant.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from duolog.runtime.consumer_groups.resets import Scope, Target, To
from duolog.server.errors import RequestRefused

_PAGE: Final = 50
_PAGE_MAX: Final = 500
_PARTITIONS: Final = 500
_PARTITIONS_MAX: Final = 5_000
_INT64_MAX: Final = 2**63 - 1
_INT32_MAX: Final = 2**31 - 1
_DIGITS_MAX: Final = 19
_SCOPES_MAX: Final = 1_000
_LIST: Final = frozenset({"search", "state", "protocol", "after", "max", "lag"})
_ONE: Final = frozenset({"max", "skip"})
_NUMBERS: Final = {
    To.OFFSET: "offset",
    To.TIME: "timeMs",
    To.DURATION: "durationMs",
    To.SHIFT: "by",
}
_RESET: Final = frozenset({"preview", "to", "topics", *_NUMBERS.values()})


class ListRequest(NamedTuple):
    """The groups that a client wants to see.

    Attributes:
        search: a part of the name, in any case; empty for all.
        states: Kafka's names of states in lower case; empty for all.
        protocols: those of groups; empty for all.
        after: names after this one.
        limit: the number of groups.
        lag: False for names and states only, without a measurement.
    """

    search: str
    states: frozenset[str]
    protocols: frozenset[str]
    after: str
    limit: int
    lag: bool = True


class ResetRequest(NamedTuple):
    """A reset, or only its preview."""

    target: Target
    scopes: tuple[Scope, ...]
    preview: bool


def read_list(given: Mapping[str, str]) -> ListRequest:
    """Return the request of a query string.

    Raises:
        RequestRefused: a parameter is unknown or invalid.
    """
    _ensure_known(given, _LIST)
    lag = given.get("lag", "true")
    if lag not in ("true", "false"):
        raise RequestRefused("'lag' is neither true nor false")
    return ListRequest(
        given.get("search", "").strip().lower(),
        _words(given.get("state", "")),
        _words(given.get("protocol", "")),
        given.get("after", ""),
        _number("max", given.get("max", _PAGE), 1, _PAGE_MAX),
        lag == "true",
    )


def read_page(given: Mapping[str, str]) -> tuple[int, int]:
    """Return how many partitions are skipped, and how many are wanted; raises as `read_list`."""
    _ensure_known(given, _ONE)
    return (
        _number("skip", given.get("skip", 0), 0, _INT32_MAX),
        _number("max", given.get("max", _PARTITIONS), 1, _PARTITIONS_MAX),
    )


def read_reset(body: bytes) -> ResetRequest:
    """Return the request of a body.

    Raises:
        RequestRefused: it is not such an object, or a member is unknown or invalid.
    """
    given = _object(body)
    _ensure_known(given, _RESET)
    try:
        to = To(given.get("to"))
    except ValueError:
        kinds = ", ".join(kind.value for kind in To)
        raise RequestRefused(f"'to' is not one of {kinds}") from None
    preview = given.get("preview", False)
    if not isinstance(preview, bool):
        raise RequestRefused("'preview' is neither true nor false")
    name = _NUMBERS.get(to)
    if extra := sorted({*_NUMBERS.values()} & given.keys() - {name}):
        raise RequestRefused(f"'{extra[0]}' does not belong to a reset to {to.value}")
    number = 0
    if name is not None:
        if name not in given:
            raise RequestRefused(f"A reset to {to.value} needs '{name}'")
        least = -_INT64_MAX if to is To.SHIFT else 0
        number = _number(name, given[name], least, _INT64_MAX)
    return ResetRequest(Target(to, number), _scopes(given.get("topics")), preview)


def read_offsets_deletion(body: bytes) -> tuple[Scope, ...]:
    """Return the topics of a body; raises as `read_reset`."""
    given = _object(body)
    _ensure_known(given, {"topics"})
    scopes = _scopes(given.get("topics"))
    if not scopes:
        raise RequestRefused("'topics' is missing: name the topics whose offsets are deleted")
    return scopes


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RequestRefused("The body is not JSON") from error
    if not isinstance(given, dict):
        raise RequestRefused("The body is not a JSON object")
    return given


def _scopes(given: object) -> tuple[Scope, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not given or len(given) > _SCOPES_MAX:
        raise RequestRefused(f"'topics' is not a list of 1 to {_SCOPES_MAX} topics")
    return tuple(map(_scope, given))


def _scope(given: object) -> Scope:
    match given:
        case {"topic": str(topic), **rest} if topic and not rest.keys() - {"partitions"}:
            numbers = rest.get("partitions") or []
            if isinstance(numbers, list):
                found = [_number("partitions", number, 0, _INT32_MAX) for number in numbers]
                return Scope(topic, tuple(sorted(set(found))))
    raise RequestRefused('\'topics\' has objects such as {"topic": "orders", "partitions": [0, 1]}')


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in text.split(",") if word.strip())


def _number(name: str, given: object, least: int, most: int) -> int:
    whole = isinstance(given, int) and not isinstance(given, bool)
    text = str(given) if whole or isinstance(given, str) else ""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX):
        raise RequestRefused(f"'{name}' is not a whole number")
    if not least <= int(text) <= most:
        raise RequestRefused(f"'{name}' is not between {least} and {most}")
    return int(text)


def _ensure_known(given: Mapping[str, Any], known: frozenset[str] | set[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise RequestRefused(
            f"'{unknown[0][:100]}' is not a parameter; use {', '.join(sorted(known))}"
        )
