"""Check the key expressions of GROUP BY and PARTITION BY.

Source: ksqlDB's documentation of both clauses; the messages are those that its users search for.
"""

from collections.abc import Sequence

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.aggregates import aggregates_in
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.analysis import error_text, meaning
from duolog.ksql.syntax.nodes import place_of


def ensure_key_expressions(clause: str, given: Sequence[exp.Expression], scope: SqlScope) -> None:
    """Refuse key expressions that are missing, contain aggregates or are given twice.

    Raises:
        SqlError: there is no expression, one calls an aggregate function, or two are equal.
    """
    if not given:
        raise SqlError(f"{clause} requires at least one expression")
    for call in aggregates_in(*given):
        name = str(call.this).upper()
        raise SqlError(
            f"{clause} does not support aggregate functions: {name} is an aggregate function.",
            at=place_of(call),
            hint="Aggregate into a table first, and group that table in a second query.",
        )
    seen: set[str] = set()
    for node in given:
        means = meaning(node, scope)
        if means in seen:
            raise SqlError(
                f"Duplicate {clause} expression: {error_text(node, scope)}",
                at=place_of(node),
            )
        seen.add(means)
