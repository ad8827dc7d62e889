"""A query as errors of its result repeat it: every column by its source, every item with its name."""

from collections.abc import Sequence

from sqlglot import exp

from duolog.ksql import nodes
from duolog.ksql.analysis import Item
from duolog.ksql.formatting import formatted, quoted_name
from duolog.ksql.scope import SqlScope

_CLAUSES = (("where", "WHERE"), ("group", "GROUP BY"), ("partition_by", "PARTITION BY"))


def rewritten(begin: str, select: exp.Select, items: Sequence[Item], scope: SqlScope) -> str:
    """Return a query of one source on lines of its own, behind the words that `begin` its statement.

        CREATE TABLE T AS SELECT
          S.A A,
          COUNT(*) KSQL_COL_0
        FROM S S
        GROUP BY S.A
        EMIT CHANGES

    Source: ksqlDB's messages.
    """
    table = select.args["from_"].this
    listed = ",\n".join(f"  {_told(item.node, scope)} {quoted_name(item.name)}" for item in items)
    lines = [f"{begin}SELECT\n{listed}"]
    lines.append(f"FROM {quoted_name(table.name)} {quoted_name(table.alias or table.name)}")
    if (window := select.args.get("stream_window")) is not None:
        lines.append(f"WINDOW {_window(window)}")
    for key, words in _CLAUSES:
        clause = select.args.get(key)
        if clause is not None:
            parts = clause.expressions or [clause.this]
            lines.append(f"{words} {', '.join(_told(part, scope) for part in parts)}")
    if (having := select.args.get("having")) is not None:
        lines.append(f"HAVING {_told(having.this, scope)}")
    emit = select.args.get("emit")
    lines.append(f"EMIT {emit.this if emit is not None else 'CHANGES'}")
    return "\n".join(lines)


def _told(node: exp.Expression, scope: SqlScope) -> str:
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
    told = [
        f"{words}{duration.this.name} {duration.args['unit'].name}S"
        for words, key in parts
        if isinstance(duration := window.args.get(key), nodes.Duration)
    ]
    return f"{window.args['kind']} ( {' , '.join(told)} )"
