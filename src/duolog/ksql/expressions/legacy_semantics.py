"""Rewrite expressions whose meaning has changed in ksqlDB, if a setting asks for the old one.

    ksql.functions.substring.legacy.args = true
        SUBSTRING(text, start, end): positions from 0, end exclusive; null if one is out of range
    ksql.cast.strings.preserve.nulls = false
        CAST(null AS STRING) is the string 'null'

Source: ksqlDB's documentation of these settings, and of SUBSTRING.
"""

from collections.abc import Callable

from sqlglot import exp

from duolog.ksql.settings import CAST, SUBSTRING, Settings

Rewrite = Callable[[exp.Expression], exp.Expression]


def with_legacy_semantics(node: exp.Expression, settings: Settings) -> exp.Expression:
    """Return a statement rewritten for the settings, or itself if they require no change."""
    rewrites: list[Rewrite] = []
    if settings.truth(SUBSTRING):
        rewrites.append(_substring)
    if settings.truth(CAST) is False:
        rewrites.append(_cast)
    if not rewrites:
        return node
    made = node.copy()
    # Innermost expressions first: an outer rewrite copies its parts.
    parts: list[exp.Expression] = list(made.find_all(exp.Anonymous, exp.Cast))
    for found in reversed(parts):
        for rewrite in rewrites:
            if (rewritten := rewrite(found)) is not found:
                rewritten.meta.update(found.meta)
                found.replace(rewritten)
    return made


def _substring(node: exp.Expression) -> exp.Expression:
    if not isinstance(node, exp.Anonymous) or str(node.this).upper() != "SUBSTRING":
        return node
    if not 2 <= len(node.expressions) <= 3:
        return node
    text, start, *end = node.expressions
    size = exp.Anonymous(this="LEN", expressions=[text.copy()])
    last = end[0] if end else size
    one = exp.Literal.number(1)
    parts = [text.copy(), exp.Add(this=start.copy(), expression=one)]
    if end:
        parts.append(exp.Sub(this=last.copy(), expression=start.copy()))
    there = exp.And(
        this=exp.GTE(this=start.copy(), expression=exp.Literal.number(0)),
        expression=exp.And(
            this=exp.LTE(this=start.copy(), expression=last.copy()),
            expression=exp.LTE(this=last.copy(), expression=size.copy()),
        ),
    )
    call = exp.Anonymous(this="SUBSTRING", expressions=parts)
    return exp.Case(ifs=[exp.If(this=there, true=call)])


def _cast(node: exp.Expression) -> exp.Expression:
    if not isinstance(node, exp.Cast) or node.args["to"].this != exp.DType.TEXT:
        return node
    return exp.Anonymous(this="COALESCE", expressions=[node.copy(), exp.Literal.string("null")])
