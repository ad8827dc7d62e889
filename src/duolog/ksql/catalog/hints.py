"""Suggest a source if a name is unknown."""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.nodes import place_of


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


def named(sources: Mapping[str, SourceInfo], node: exp.Expression, unknown: str) -> SourceInfo:
    """Return the source of a name; `unknown` is the message if there is none, with {} for the name.

    Raises:
        SqlError: there is no source of that name.
    """
    found = sources.get(node.name)
    if found is None:
        raise SqlError(unknown.format(node.name) + closest(node.name, sources), at=place_of(node))
    return found
