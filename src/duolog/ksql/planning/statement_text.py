"""Rewrite a query as ksqlDB's errors repeat it: columns qualified, all items named."""

from collections.abc import Sequence

from sqlglot import exp

from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.analysis import Item
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.formatting import formatted, quoted_name

_CLAUSES = (("where", "WHERE"), ("group", "GROUP BY"), ("partition_by", "PARTITION BY"))


def rewritten(begin: str, select: exp.Select, items: Sequence[Item], scope: SqlScope) -> str:
    """Return a query in lines; `begin` is the start of its statement.

        CREATE TABLE T AS SELECT
          S.A A,
          COUNT(*) KSQL_COL_0
        FROM S S
        LEFT OUTER JOIN R R WITHIN 1 HOURS ON ((S.A = R.A))
        GROUP BY S.A
        EMIT CHANGES

    Source: ksqlDB's messages.
    """
    listed = ",\n".join(f"  {_text(item.node, scope)} {quoted_name(item.name)}" for item in items)
    lines = [f"{begin}SELECT\n{listed}"]
    lines.append(f"FROM {_source(select.args['from_'].this)}")
    lines += [_join(join, scope) for join in select.args.get("joins") or ()]
    if (window := select.args.get("stream_window")) is not None:
        lines.append(f"WINDOW {_window(window)}")
    for key, words in _CLAUSES:
        clause = select.args.get(key)
        if clause is not None:
            parts = clause.expressions or [clause.this]
            lines.append(f"{words} {', '.join(_text(part, scope) for part in parts)}")
    if (having := select.args.get("having")) is not None:
        lines.append(f"HAVING {_text(having.this, scope)}")
    emit = select.args.get("emit")
    lines.append(f"EMIT {emit.this if emit is not None else 'CHANGES'}")
    return "\n".join(lines)


def _source(table: exp.Expression) -> str:
    if isinstance(table, exp.Subquery):
        return f"(...) {quoted_name(table.alias)}"
    return f"{quoted_name(table.name)} {quoted_name(table.alias or table.name)}"


def _join(join: exp.Join, scope: SqlScope) -> str:
    side = join.args.get("side")
    within = join.args.get("within")
    return (
        f"{f'{side} OUTER' if side else 'INNER'} JOIN {_source(join.this)}"
        f"{f' WITHIN {_within(within)}' if within is not None else ''} ON "
        f"({_text(join.args['on'], scope)})"
    )


def _within(within: nodes.Within) -> str:
    before, after = (_duration(within.args[side]) for side in ("before", "after"))
    parts_text = before if before == after else f"({before}, {after})"
    grace = within.args.get("grace")
    return parts_text if grace is None else f"{parts_text} GRACE PERIOD {_duration(grace)}"


def _text(node: exp.Expression, scope: SqlScope) -> str:
    def qualify(part: exp.Expression) -> exp.Expression:
        found = scope.get(part) if isinstance(part, exp.Column) else None
        if found is None or not found.source:
            return part
        name, source = (exp.to_identifier(one, quoted=True) for one in (found.name, found.source))
        return exp.column(name, table=source)

    return formatted(node.copy().transform(qualify))


def _window(window: exp.Expression) -> str:
    parts = [("", "size")] if window.args["kind"] == "SESSION" else [("SIZE ", "size")]
    parts += [("ADVANCE BY ", "advance"), ("RETENTION ", "retention"), ("GRACE PERIOD ", "grace")]
    parts_text = [
        f"{words}{_duration(duration)}"
        for words, key in parts
        if isinstance(duration := window.args.get(key), nodes.Duration)
    ]
    return f"{window.args['kind']} ( {' , '.join(parts_text)} )"


def _duration(duration: nodes.Duration) -> str:
    return f"{duration.this.name} {duration.args['unit'].name}S"
