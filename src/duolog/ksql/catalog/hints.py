"""Suggest a source if a name is unknown."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.nodes import place_of

_ALIKE: Final = 0.7
_DECLARE: Final = (
    "SHOW STREAMS; and SHOW TABLES; list what exists. To read a topic, declare a stream over it: "
    "CREATE STREAM … WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON');"
)


def closest(name: str, known: Iterable[str]) -> str:
    """Return a line that suggests the same name in another case; empty if there is none.

    Example:
        >>> closest("FLIGHTS", ["flights"]).strip().split(" Hint: ")[0]
        'Did you mean "flights"?'
    """
    lines = []
    for other in known:
        if other == name or other.upper() != name.upper():
            continue
        if other == other.upper():
            lines.append(
                f"\nDid you mean {other}? Hint: try removing double quotes from the source name."
            )
        else:
            lines.append(
                f'\nDid you mean "{other}"? Hint: wrap the source name in double quotes to make '
                "it case-sensitive."
            )
    return "".join(lines)


def unknown_source(
    sources: Iterable[str], node: exp.Expression, unknown: str = "{} does not exist."
) -> SqlError:
    """Return the error of a name that no source has, with the most similar name as its hint."""
    known = list(sources)
    case = closest(node.name, known)
    near = get_close_matches(node.name.upper(), known, n=1, cutoff=_ALIKE)
    hint = f"Did you mean {near[0]}?" if near else _DECLARE
    return SqlError(unknown.format(node.name) + case, at=place_of(node), hint="" if case else hint)


def named(sources: Mapping[str, SourceInfo], node: exp.Expression, unknown: str) -> SourceInfo:
    """Return the source of a name; `unknown` is the message if there is none, with {} for the name.

    Raises:
        SqlError: there is no source of that name.
    """
    found = sources.get(node.name)
    if found is None:
        raise unknown_source(sources, node, unknown)
    return found
