"""Parameters of requests: texts of addresses and members of bodies, checked."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from duolog.server.errors import RequestRefused

NUMBER_MAX: Final = 2**63 - 1
_SHOWN: Final = 100


def ensure_known(given: Collection[str], known: Collection[str]) -> None:
    """Ensure that all names are known.

    Raises:
        RequestRefused: one is not.
    """
    if unknown := sorted(set(given) - set(known)):
        raise RequestRefused(
            f"'{unknown[0][:_SHOWN]}' is not a parameter; use {', '.join(sorted(known))}"
        )


def number(
    name: str, text: str | None, otherwise: int, least: int = 0, most: int = NUMBER_MAX
) -> int:
    """Return a number; raises RequestRefused if it is none, or out of its range."""
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(NUMBER_MAX))):
        raise RequestRefused(f"'{name}' is not a number")
    if not least <= int(text) <= most:
        raise RequestRefused(f"'{name}' is not between {least} and {most}")
    return int(text)


def flag(given: Mapping[str, str], name: str) -> bool:
    """Return whether a parameter is `true`; raises RequestRefused if it is neither."""
    text = given.get(name, "false")
    if text not in ("true", "false"):
        raise RequestRefused(f"'{name}' is neither true nor false")
    return text == "true"


def one_of(name: str, text: str, known: Collection[str]) -> str:
    """Return a text; raises RequestRefused if it is not one of those that are known."""
    if text not in known:
        raise RequestRefused(f"'{name}' is not one of {', '.join(known)}")
    return text


def members(body: bytes, known: Collection[str]) -> dict[str, Any]:
    """Return the members of the JSON object that a body is.

    Raises:
        RequestRefused: it is none, or a member is not known.
    """
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RequestRefused("The body is not JSON") from error
    if not isinstance(given, dict):
        raise RequestRefused("The body is not a JSON object")
    ensure_known(given, known)
    return given


def text_member(given: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    """Return a member that is a text; raises RequestRefused if it is missing or none."""
    value = given.get(name, otherwise)
    if not isinstance(value, str):
        raise RequestRefused(f"'{name}' is not a text")
    return value


def whole_member(
    given: Mapping[str, Any], name: str, otherwise: int | None, least: int, most: int
) -> int | None:
    """Return a member that is a whole number, as a number or a text; raises RequestRefused."""
    value = given.get(name)
    if value is None:
        return otherwise
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii():
        value = int(value) if len(value) < _SHOWN else NUMBER_MAX + 1
    if type(value) is not int:
        raise RequestRefused(f"'{name}' is not a whole number")
    if not least <= value <= most:
        raise RequestRefused(f"'{name}' is not between {least} and {most}")
    return value
