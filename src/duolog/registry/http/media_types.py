"""Content negotiation of the registry.

    Accept                                     answered with
    absent, */*, application/*                 application/vnd.schemaregistry.v1+json
    one or several of the three JSON types     the best by q, then in the order of `PRODUCED`
    application/vnd.schemaregistry.v2+json     406
    text/html                                  406
    text/html, */*;q=0.1                       application/vnd.schemaregistry.v1+json
    not a list of media types, q above 1       400

A body may have each of the three types or `application/octet-stream`, with any parameters; a body
without a type is accepted, too. Behaviour: Jersey (JAX-RS 3.1, section 3.8) with the types and
weights of Confluent's registry.
"""

import re
from functools import lru_cache
from typing import Final

V1: Final = "application/vnd.schemaregistry.v1+json"
UNVERSIONED: Final = "application/vnd.schemaregistry+json"
JSON: Final = "application/json"
PRODUCED: Final = (V1, UNVERSIONED, JSON)
"""The types of answers; if a client ranks several equally, the first is used."""
_CONSUMED: Final = frozenset({*PRODUCED, "application/octet-stream"})
_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE: Final = re.compile(rf"({_WORD})/({_WORD})")
_HEADER_MAX: Final = 4096


class NotAcceptable(Exception):
    """The client accepts none of the types that the registry produces."""


class MalformedAccept(Exception):
    """The header Accept is not a list of media types."""


def is_consumed(content_type: str | None) -> bool:
    """Return whether a body of this type can be read.

    Example:
        >>> is_consumed("application/json; charset=utf-8"), is_consumed("text/plain")
        (True, False)
    """
    if content_type is None:
        return True
    return content_type.partition(";")[0].strip().lower() in _CONSUMED


@lru_cache(maxsize=256)
def produced_for(accept: str | None) -> str:
    """Return the type to answer with.

    Example:
        >>> produced_for("application/json;q=0.5, application/vnd.schemaregistry+json")
        'application/vnd.schemaregistry+json'

    Raises:
        NotAcceptable: the client accepts none of the registry's types.
        MalformedAccept: the header cannot be read.
    """
    if accept is None or not accept.strip():
        return V1
    if len(accept) > _HEADER_MAX:
        raise MalformedAccept
    ranges = [_media_range(part) for part in accept.split(",") if part.strip()]
    best = max(
        ((_quality(ranges, produced), -place) for place, produced in enumerate(PRODUCED)),
    )
    if best[0] <= 0:
        raise NotAcceptable
    return PRODUCED[-best[1]]


def _quality(ranges: list[tuple[str, str, float]], produced: str) -> float:
    """Return the weight of a type by its most specific range; 0 if none includes it."""
    main, _, sub = produced.partition("/")
    found = [
        ((a == main) + (b == sub), q) for a, b, q in ranges if a in {main, "*"} and b in {sub, "*"}
    ]
    return max(found, default=(0, 0.0))[1]


def _media_range(text: str) -> tuple[str, str, float]:
    name, *parameters = text.split(";")
    found = _RANGE.fullmatch(name.strip())
    if found is None or (found[1] == "*" and found[2] != "*"):
        if name.strip() != "*":  # Java's own HTTP client sends "text/html, *; q=.2, */*; q=.2".
            raise MalformedAccept
        return "*", "*", _weight(parameters)
    return found[1].lower(), found[2].lower(), _weight(parameters)


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            if not re.fullmatch(r"[01](\.[0-9]{0,3})?|\.[0-9]{1,3}", value.strip()):
                raise MalformedAccept
            weight = float(value)
            if weight > 1:
                raise MalformedAccept
            return weight
    return 1.0
