"""Requests about users, rules, settings and schemas: members of JSON objects, and pages of lists.

Every list is answered in pages: `?search=TEXT&offset=N&limit=N`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from duolog.server.errors import RequestRefused

PAGE: Final = 100
PAGE_MAX: Final = 1_000
_DIGITS_MAX: Final = 9
_FLAGS: Final = {"true": True, "false": False}

T = TypeVar("T")


class Page(NamedTuple):
    """The part of a list that a client wants."""

    search: str
    offset: int
    limit: int

    def of(self, items: Iterable[T], text: Callable[[T], str]) -> tuple[list[T], int]:
        """Return the items whose texts contain the search, and the number of all of these."""
        wanted = self.search.casefold()
        found = [one for one in items if wanted in text(one).casefold()]
        return found[self.offset : self.offset + self.limit], len(found)


def read_page(query: Mapping[str, str], *more: str) -> Page:
    """Return the page of a query string; `more` are names of its other parameters.

    Raises:
        RequestRefused: a parameter is unknown or invalid.
    """
    ensure_known(query, {"search", "offset", "limit", *more})
    return Page(
        query.get("search", ""),
        number_of("offset", query.get("offset"), 0, 0, 10**_DIGITS_MAX - 1),
        number_of("limit", query.get("limit"), PAGE, 1, PAGE_MAX),
    )


def flag_of(query: Mapping[str, str], name: str) -> bool:
    """Return a flag of a query string, false if it is missing; raises as `read_page`."""
    text = query.get(name, "false").lower()
    if text not in _FLAGS:
        raise RequestRefused(f"{name} must be true or false")
    return _FLAGS[text]


def number_of(name: str, text: str | None, otherwise: int, least: int, most: int) -> int:
    """Return a number of a query string; raises as `read_page`."""
    if text is None:
        return otherwise
    if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX:
        number = int(text)
        if least <= number <= most:
            return number
    raise RequestRefused(f"{name} must be a number between {least} and {most}")


def read_object(body: bytes, known: Iterable[str]) -> dict[str, Any]:
    """Return the object of a body.

    Raises:
        RequestRefused: it is not an object in JSON, or a member is unknown.
    """
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RequestRefused("The body is not JSON") from error
    if not isinstance(given, dict):
        raise RequestRefused("The body is not a JSON object")
    ensure_known(given, known)
    return given


def text_in(given: Mapping[str, Any], name: str, *, otherwise: str | None = None) -> str:
    """Return a text of an object.

    Args:
        given: the object.
        name: the name of the member.
        otherwise: the value if it is missing; None if it must not be.

    Raises:
        RequestRefused: it is missing, empty, or not a text.
    """
    value = given.get(name, otherwise)
    if not isinstance(value, str) or (not value and otherwise is None):
        raise RequestRefused(f"{name} must be a text that is not empty")
    return value


def list_in(given: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return a list of an object, empty if it is missing; raises as `text_in`."""
    value = given.get(name, [])
    if not isinstance(value, list):
        raise RequestRefused(f"{name} must be a list")
    return value


def ensure_known(given: Iterable[str], known: Iterable[str]) -> None:
    """Ensure that all names are known; raises as `read_page`."""
    for name in given:
        if name not in set(known):
            raise RequestRefused(f"Unknown parameter: {name[:100]}")
