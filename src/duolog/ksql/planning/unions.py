"""Plan UNION ALL of streams: columns match by position, with the names of the first query.

    SELECT id, km FROM a  UNION ALL  SELECT no, cents FROM b       ID, KM

Types are widened. The records of each stream keep their order. All queries must have the same key
columns.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.errors import Place, SqlError
from duolog.ksql.expressions.bound import Bound, converted
from duolog.ksql.planning.nested import Nested
from duolog.ksql.planning.steps import Steps
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name, wider
from duolog.plan.expressions import ColumnRef
from duolog.plan.nodes import Merge, Node, Project, Rename
from duolog.plan.types import Type


def branches(query: exp.Expression) -> list[exp.Expression]:
    """Return the queries of a UNION ALL, in order; any other query is returned alone."""
    if isinstance(query, exp.Subquery) and not query.alias:
        return branches(query.this)
    if type(query) is exp.Union and not query.args.get("distinct") and not query.args.get("limit"):
        return [*branches(query.this), *branches(query.expression)]
    return [query]


def united_select(query: exp.Query) -> exp.Select:
    """Return a SELECT of all rows of a UNION ALL."""
    alias = exp.TableAlias(this=exp.to_identifier("UNITED", quoted=True))
    source = exp.From(this=exp.Subquery(this=query, alias=alias))
    made = exp.Select(expressions=[exp.Star()], from_=source)
    made.meta.update(query.meta)
    return made


def united(
    parts: Sequence[tuple[Nested, Sequence[str]]], query: exp.Expression, steps: Steps
) -> Nested:
    """Merge several results, each given with its columns in select order.

    Raises:
        SqlError: a result is a table, or its columns do not match those of the first.
    """
    at = place_of(query)
    columns = [_in_order(part, names) for part, names in parts]
    for (part, _), own in zip(parts, columns, strict=True):
        _ensure_fits(part, own, parts[0][0], columns[0], at)
    types = [_common([own[i].type for own in columns], i, at) for i in range(len(columns[0]))]
    merged = [
        _as_first(part, own, columns[0], types, steps)
        for (part, _), own in zip(parts, columns, strict=True)
    ]
    first = parts[0][0].info
    of = {column.name: kind for column, kind in zip(columns[0], types, strict=True)}
    info = replace(
        first, columns=tuple(replace(column, type=of[column.name]) for column in first.columns)
    )
    sources = dict.fromkeys(source.name for part, _ in parts for source in part.sources)
    by_name = {source.name: source for part, _ in parts for source in part.sources}
    node = steps.add("merge", lambda name: Merge(name, tuple(merged)))
    return Nested(info, node, tuple(by_name[name] for name in sources))


def _in_order(part: Nested, names: Sequence[str]) -> list[SqlColumn]:
    by_name = {column.name: column for column in part.info.columns}
    return [by_name[name] for name in names]


def _ensure_fits(
    part: Nested,
    own: Sequence[SqlColumn],
    first: Nested,
    wanted: Sequence[SqlColumn],
    at: Place | None,
) -> None:
    if part.info.is_table:
        raise SqlError("UNION ALL requires streams, not tables.", at=at)
    if len(own) != len(wanted):
        raise SqlError(
            f"The queries of UNION ALL have {len(wanted)} and {len(own)} columns.", at=at
        )
    keys = [(i, column.type) for i, column in enumerate(wanted) if column.role == "KEY"]
    if keys != [(i, column.type) for i, column in enumerate(own) if column.role == "KEY"]:
        raise SqlError(
            "The queries of UNION ALL have different keys.",
            detail=f"Found {_listed(first.info.key)} and {_listed(part.info.key)}.",
            at=at,
            hint="Select the key at the same position in each query; PARTITION BY changes a key.",
        )
    if (
        _key_places(part, own) != _key_places(first, wanted)
        or part.info.window != first.info.window
    ):
        raise SqlError(
            "The queries of UNION ALL have different windows, or keys in different order.", at=at
        )


def _key_places(part: Nested, own: Sequence[SqlColumn]) -> list[int]:
    """Return the positions of the key columns, in key order."""
    names = [column.name for column in own]
    return [names.index(column.name) for column in part.info.key]


def _common(types: Sequence[Type], place: int, at: Place | None) -> Type:
    found = types[0]
    for other in types[1:]:
        both = wider(found, other)
        if both is None:
            raise SqlError(
                f"Column {place + 1} of UNION ALL is {sql_name(found)} and {sql_name(other)}.",
                at=at,
            )
        found = both
    return found


def _as_first(
    part: Nested,
    own: Sequence[SqlColumn],
    wanted: Sequence[SqlColumn],
    types: Sequence[Type],
    steps: Steps,
) -> Node:
    """Return the records of a part with the column names of the first query."""
    # Numbered names until the end: a value column here may have the name of another part's key.
    values = [
        (f"v{i}", converted(Bound(ColumnRef(mine.name), mine.type), of).expression, column.name)
        for i, (mine, column, of) in enumerate(zip(own, wanted, types, strict=True))
        if mine.role != "KEY"
    ]
    keys = tuple(wanted[i].name for i in _key_places(part, own))
    named = tuple((name, value) for name, value, _ in values)
    projected = steps.add("columns", lambda name: Project(name, part.node, named))
    names = tuple(name for _, _, name in values)
    return steps.add("names", lambda name: Rename(name, projected, keys, names))


def _listed(columns: Sequence[SqlColumn]) -> str:
    return ", ".join(map(str, columns)) or "none"
