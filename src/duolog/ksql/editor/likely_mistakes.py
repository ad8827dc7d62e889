"""Statements that work but are probably a mistake, found in their syntax trees."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sqlglot import exp

from duolog.ksql.errors import Place, SqlError
from duolog.ksql.planning.windowing import is_final, windows_of
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of

_OLD: Final = {
    "DATETOSTRING": "FORMAT_DATE",
    "STRINGTODATE": "PARSE_DATE",
    "TIMESTAMPTOSTRING": "FORMAT_TIMESTAMP",
    "STRINGTOTIMESTAMP": "PARSE_TIMESTAMP",
}


class Mistake(NamedTuple):
    """A likely mistake, its place in the statement, and the name of the rule that found it."""

    at: Place
    rule: str
    text: str


Match = tuple[exp.Expression, str]
"""A match of a rule: the node and the message."""


def likely_mistakes(node: exp.Expression) -> Iterator[Mistake]:
    """Yield the likely mistakes of a statement."""
    for rule, find in _RULES.items():
        for part, text in find(node):
            place = place_of(part) or place_of(node)
            if place is not None:
                yield Mistake(place, rule, text)


def _old_functions(node: exp.Expression) -> Iterator[Match]:
    for part in node.find_all(exp.Anonymous):
        name = str(part.this).upper()
        if name in _OLD:
            yield part, f"{name} is deprecated; use {_OLD[name]}"
        elif name == "STDDEV_SAMP":
            yield (
                part,
                "STDDEV_SAMP returns the variance; use STDDEV_SAMPLE for the standard deviation",
            )


def _windows_without_grace(node: exp.Expression) -> Iterator[Match]:
    for part in node.find_all(nodes.StreamWindow):
        if part.args.get("grace") is None:
            yield part, _without_grace(part)


def _without_grace(window: nodes.StreamWindow) -> str:
    """Return the warning about late records, which shorter windows accept for a day."""
    try:
        whole_statements = (
            windows_of(window, final=is_final(window.find_ancestor(exp.Select))).grace_ms > 0
        )
    except SqlError:  # The error is reported for the statement.
        whole_statements = True
    if whole_statements:
        return (
            "without GRACE PERIOD, late records are accepted for 24 hours and windows "
            "are stored as long"
        )
    return "without GRACE PERIOD, records that arrive after the end of a window are dropped"


def _joins_without_grace(node: exp.Expression) -> Iterator[Match]:
    for part in node.find_all(exp.Join):
        within = part.args.get("within")
        outer = str(part.args.get("side") or "") in {"LEFT", "RIGHT", "FULL"}
        if within is not None and outer and within.args.get("grace") is None:
            told = (
                "without GRACE PERIOD, a row without a match is emitted at once, and again if a "
                "match arrives later"
            )
            yield within, told


def _plain_patterns(node: exp.Expression) -> Iterator[Match]:
    for part in node.find_all(exp.Like):
        pattern = part.expression
        if isinstance(pattern, exp.Literal) and not set(pattern.name) & {"%", "_"}:
            yield part, f"LIKE '{pattern.name}' has no wildcard (% or _); use ="


_RULES: Final[dict[str, Callable[[exp.Expression], Iterator[Match]]]] = {
    "deprecated-function": _old_functions,
    "window-without-grace": _windows_without_grace,
    "join-without-grace": _joins_without_grace,
    "like-without-wildcard": _plain_patterns,
}
