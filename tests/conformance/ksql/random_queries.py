# ruff: noqa: S608 - the statements are ours
"""Random queries over one stream or table.

Projections and filters, PARTITION BY, GROUP BY with windows, UNION ALL, INSERT INTO.

Each is a statement, and a query of DuckDB over the rows of its source.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from conformance.ksql.random_expressions import Expressions, Written
from conformance.ksql.random_relations import BAG, Application, Col, Relation
from conformance.ksql.random_types import KEYS, NUMBERS, ORDERED

SYSTEM: Final = "_SEQ, _TS, _TOMB"


def select(app: Application, kind: str) -> bool:
    """Add CREATE … AS SELECT … WHERE; return False if there is no such source."""
    source = app.pick(kind)
    if source is None:
        return False
    called = app.random.choice(["", source.name, "q"])
    scope = source.scope(called, "q0")
    of = app.expressions(scope)
    names = app.names(len(source.keys) + app.random.randrange(1, 5))
    keys = tuple(Col(name, col.kind) for name, col in zip(names, source.keys, strict=False))
    given = scope[: len(keys)]
    if source.keys and any(col.kind == BAG for col in source.keys):
        return False
    items = select_with_keys([of.any() for _ in names[len(keys) :]], given)
    values = tuple(
        Col(name, item.kind) for name, item in zip(names[len(keys) :], items, strict=True)
    )
    where = of.condition() if app.chance(0.6) else None
    starred = app.chance(0.15) and all(col.kind != BAG for col in source.columns)
    if starred:
        keys, values, given, items = (
            source.keys,
            source.values,
            scope[: len(keys)],
            scope[len(keys) :],
        )
    selected = "*" if starred else selection([*given, *items], [*keys, *values])
    relation = replace(source, name=new_name(app), keys=keys, values=values)
    alias = "" if called in ("", source.name) else f" {called}"
    text = f"CREATE {kind} {relation.name}{app.properties(keys)} AS SELECT {selected} FROM {source.name}{alias}"
    text += f" WHERE {where.sql}" if where else ""
    columns = named([*given, *items], relation.columns)
    if source.is_table:
        gone = f"(_TOMB OR NOT {where.duck})" if where else "_TOMB"
        content = f"SELECT _SEQ, _TS, {gone} AS _TOMB, {columns} FROM {source.rows} q0"
    else:
        content = f"SELECT {SYSTEM}, {columns} FROM {source.rows} q0"
        content += f" WHERE {where.duck}" if where else ""
    if source.is_table and not source.changes:
        content = f"SELECT * FROM ({content}) WHERE NOT _TOMB"
    app.add(f"{text} EMIT CHANGES;", relation, content)
    return True


def partition_by(app: Application) -> bool:
    """A stream under another key."""
    source = app.pick("STREAM")
    if source is None:
        return False
    scope = source.scope("", "q0")
    of = app.expressions(scope)
    given = _distinct([of.any(KEYS, 1) for _ in range(app.random.choice([1, 1, 2]))])
    given = [one for one in given if one.sql != "NULL" and has_column(one, scope)]
    if not given:
        return False
    items = [of.any() for _ in range(app.random.randrange(1, 4))]
    items = select_with_keys(items, given)
    names = app.names(len(given) + len(items))
    keys = tuple(Col(name, one.kind) for name, one in zip(names, given, strict=False))
    values = tuple(
        Col(name, item.kind) for name, item in zip(names[len(keys) :], items, strict=True)
    )
    relation = replace(source, name=new_name(app), keys=keys, values=values)
    selected = selection([*given, *items], relation.columns)
    by = ", ".join(one.sql for one in given)
    text = f"CREATE STREAM {relation.name}{app.properties(keys)} AS SELECT {selected} FROM {source.name} PARTITION BY {by}"
    content = f"SELECT {SYSTEM}, {named([*given, *items], relation.columns)} FROM {source.rows} q0"
    app.add(f"{text} EMIT CHANGES;", relation, content)
    return True


class _Aggregated(NamedTuple):
    sql: str
    duck: str
    kind: str
    over_tables: bool = True


def group_by(app: Application, kind: str) -> bool:
    """A table of groups; of a stream, also in windows."""
    source = app.pick(kind)
    if source is None:
        return False
    scope = source.scope("", "q0")
    of = app.expressions(scope)
    keys_of = _distinct([of.any(KEYS, 1) for _ in range(app.random.choice([1, 1, 2, 3]))])
    keys_of = [one for one in keys_of if has_column(one, scope)]
    if not keys_of:
        return False
    calls = [_aggregated(app, of, source) for _ in range(app.random.randrange(1, 5))]
    names = app.names(len(keys_of) + len(calls))
    keys = tuple(Col(name, one.kind) for name, one in zip(names, keys_of, strict=False))
    values = tuple(
        Col(name, call.kind) for name, call in zip(names[len(keys) :], calls, strict=True)
    )
    window = _window(app, source) if not source.is_table and app.chance(0.4) else None
    relation = Relation(
        new_name(app),
        "TABLE",
        keys,
        values,
        source.roots,
        timed=source.timed and not source.is_table,
        window="" if window is None else window.kind,
    )
    read, source = _behind_from(app, source, of)
    where = of.condition() if app.chance(0.4) else None
    having = _having(app, of, source)
    taken = [Written(call.sql, call.duck, call.kind) for call in calls]
    selected = selection([*keys_of, *taken], relation.columns)
    text = f"CREATE TABLE {relation.name}{app.properties(keys)} AS SELECT {selected} FROM {read}"
    text += f" WINDOW {window.sql}" if window else ""
    text += f" WHERE {where.sql}" if where else ""
    text += f" GROUP BY {', '.join(one.sql for one in keys_of)}"
    text += f" HAVING {having.sql}" if having else ""
    content = _groups(source, relation, _Grouped(keys_of, taken, window, where, having))
    emit = "FINAL" if window and window.final else "CHANGES"
    app.add(f"{text} EMIT {emit};", relation, content)
    return True


def _behind_from(app: Application, source: Relation, of: Expressions) -> tuple[str, Relation]:
    """Return the FROM of a stream: its name, or a subquery with some of its records."""
    if source.is_table or app.chance(0.8):
        return source.name, source
    name, where = new_name(app), of.condition()
    app.oracle.execute(
        f'CREATE TABLE "{name}_X" AS SELECT * FROM {source.rows} q0 WHERE {where.duck}'
    )
    inner = f"SELECT * FROM {source.name} WHERE {where.sql}"
    return f"({inner}) AS x", replace(source, name=f"{name}_X")


class _Window(NamedTuple):
    sql: str
    kind: Literal["TIME", "SESSION"]
    size_ms: int
    advance_ms: int
    grace_ms: int = -1
    """The grace period of a window; -1 if it accepts all late records."""
    final: bool = False
    """True if its row is emitted only when it closes (EMIT FINAL)."""


def _window(app: Application, source: Relation) -> _Window:
    if source.ordered and app.chance(0.4):
        size, grace = app.random.choice([10, 30]), app.random.choice([0, 5, 40])
        step = app.random.choice([size, size // 2])
        advance = f", ADVANCE BY {step} MINUTES" if step < size else ""
        word = "HOPPING" if advance else "TUMBLING"
        own = f"{word} (SIZE {size} MINUTES{advance}, GRACE PERIOD {grace} MINUTES)"
        sizes = size * 60_000, step * 60_000, grace * 60_000
        return _Window(own, "TIME", *sizes, final=app.chance(0.4))
    size = app.random.choice([10, 60, 90, 1440])
    # A day has no time to wait unless it is said, and nothing may be too late: records are from
    # hours around midnight.
    waits = ", GRACE PERIOD 12 HOURS" if size == 1440 else ""
    match app.random.randrange(3):
        case 0:
            own = f"TUMBLING (SIZE {size} MINUTES{waits})"
            return _Window(own, "TIME", size * 60_000, size * 60_000)
        case 1:
            own = f"HOPPING (SIZE {size} MINUTES, ADVANCE BY {size // 2} MINUTES{waits})"
            return _Window(own, "TIME", size * 60_000, size // 2 * 60_000)
        case _:
            gap = app.random.choice([1, 5, 20])
            return _Window(f"SESSION ({gap} MINUTES)", "SESSION", gap * 60_000, 0)


class _Grouped(NamedTuple):
    """The GROUP BY of a query, and its HAVING."""

    keys: Sequence[Written]
    calls: Sequence[Written] = ()
    window: _Window | None = None
    where: Written | None = None
    having: Written | None = None


def _groups(source: Relation, made: Relation, grouped: _Grouped) -> str:
    """Return DuckDB's query of the groups: filtered records by window and key."""
    keys, calls, window, where, having = grouped
    key_names = [f"_K{at}" for at in range(len(keys))]
    keyed = ", ".join(f"{key.duck} AS {name}" for key, name in zip(keys, key_names, strict=True))
    rows = f"SELECT q0.*, {keyed} FROM {source.present} q0" + (
        f" WHERE {where.duck}" if where else ""
    )
    rows = (
        f"SELECT * FROM ({rows}) WHERE {' AND '.join(f'{name} IS NOT NULL' for name in key_names)}"
    )
    by = ", ".join(key_names)
    if window and window.grace_ms >= 0:
        # Stream time at each record, and at the end.
        rows = f"SELECT *, max(_TS) OVER (ORDER BY _SEQ) AS _NOW, max(_TS) OVER () AS _LAST FROM ({rows})"
    if window and window.kind == "TIME":
        size, step = window.size_ms, window.advance_ms
        first = f"(_TS // {step} * {step}) - w.i * {step}"
        rows = (
            f"SELECT *, _START + {size} AS _END FROM (SELECT r.*, {first} AS _START FROM ({rows}) r, "
            f"range({-(-size // step)}) w(i)) WHERE _START + {size} > _TS"
        )
    elif window:
        new = f"_TS - lag(_TS) OVER (PARTITION BY {by} ORDER BY _TS) > {window.size_ms}"
        rows = f"SELECT *, CASE WHEN {new} THEN 1 ELSE 0 END AS _NEW FROM ({rows})"
        rows = (
            f"SELECT *, sum(_NEW) OVER (PARTITION BY {by} ORDER BY _TS) AS _SESSION FROM ({rows})"
        )
        by += ", _SESSION"
    if window and window.kind == "TIME":
        by += ", _START, _END"
    if window and window.grace_ms >= 0:
        rows = f"SELECT * FROM ({rows}) WHERE _END > _NOW - {window.grace_ms}"
        rows += f" AND _END <= _LAST - {window.grace_ms}" if window.final else ""
    bounds = {"TIME": ["_START", "_END"], "SESSION": ["min(_TS)", "max(_TS)"], "": []}
    columns = [f"{of} AS {name}" for of, name in zip(bounds[made.window], made.bounds, strict=True)]
    columns += [f'{name} AS "{key.name}"' for name, key in zip(key_names, made.keys, strict=True)]
    columns += [
        f'{call.duck} AS "{col.name}"' for call, col in zip(calls, made.values, strict=True)
    ]
    found = f"SELECT -1 AS _SEQ, max(_TS) AS _TS, false AS _TOMB, {', '.join(columns)} FROM ({rows}) q0 GROUP BY {by}"
    return found + (f" HAVING {having.duck}" if having else "")


def _aggregated(app: Application, of: Expressions, source: Relation) -> _Aggregated:
    number = of.any(NUMBERS, 1)
    any_of = of.any(ORDERED, 1)
    # Over a table there are none in a set.
    nulls = f" FILTER ({any_of.duck} IS NOT NULL)" if source.is_table else ""
    drawn = [
        _Aggregated("COUNT(*)", "count(*)", "BIGINT"),
        _Aggregated(f"COUNT({any_of.sql})", f"count({any_of.duck})", "BIGINT"),
        _Aggregated(f"SUM({number.sql})", f"coalesce(sum({number.duck}), 0)", number.kind),
        _Aggregated(
            f"AVG({number.sql})", f"coalesce(avg(CAST({number.duck} AS DOUBLE)), 0)", "DOUBLE"
        ),
        _Aggregated(f"MIN({any_of.sql})", f"min({any_of.duck})", any_of.kind),
        _Aggregated(f"MAX({any_of.sql})", f"max({any_of.duck})", any_of.kind),
        _Aggregated(f"COLLECT_LIST({any_of.sql})", f"list({any_of.duck})", BAG),
        _Aggregated(f"COUNT(DISTINCT {any_of.sql})", f"count(DISTINCT {any_of.duck})", "BIGINT"),
        _Aggregated(
            f"(COUNT(*) + COUNT({any_of.sql}))", f"(count(*) + count({any_of.duck}))", "BIGINT"
        ),
        _Aggregated(f"COLLECT_SET({any_of.sql})", f"list(DISTINCT {any_of.duck}){nulls}", BAG),
    ]
    if source.ordered and not source.is_table:
        kept = f"FILTER ({any_of.duck} IS NOT NULL)"
        drawn += [
            _Aggregated(f"LATEST_BY_OFFSET({any_of.sql})", f"arg_max({any_of.duck}, _SEQ) {kept}", any_of.kind),
            _Aggregated(f"EARLIEST_BY_OFFSET({any_of.sql})", f"arg_min({any_of.duck}, _SEQ) {kept}", any_of.kind),
        ]  # fmt: skip
    found = app.random.choice(drawn)
    return found if found.kind != "DECIMAL" or "SUM" not in found.sql else drawn[0]


def _having(app: Application, of: Expressions, source: Relation) -> Written | None:
    # A group without rows stays with a count of 0: HAVING decides if it is deleted.
    least = app.random.randrange(3) if app.chance(0.4) else 0
    if source.is_table or app.chance(0.3):
        return Written(f"COUNT(*) > {least}", f"count(*) > {least}", "BOOLEAN")
    if app.chance(0.2):
        number = of.any(("INT",), 1)
        return Written(
            f"SUM({number.sql}) >= {least}",
            f"coalesce(sum({number.duck}), 0) >= {least}",
            "BOOLEAN",
        )
    return None


def insert_into(app: Application) -> bool:
    """INSERT INTO a stream that another query creates."""
    made = [one for one in app.relations if one.name.startswith("R") and not one.is_table]
    source = app.pick("STREAM")
    # Records that were read before this query exists are not read again.
    if not made or source is None or made[-1] != app.relations[-1] or source == made[-1]:
        return False
    into = made[-1]
    if source.roots & into.roots or len(source.keys) != len(into.keys):
        return False
    if [col.kind for col in source.keys] != [col.kind for col in into.keys]:
        return False
    scope = source.scope("", "q0")
    of = app.expressions(scope)
    of_key = scope[: len(into.keys)]
    items = [*of_key, *select_with_keys([of.of(col.kind) for col in into.values], of_key)]
    if any(col.kind in (BAG, "DECIMAL") for col in into.values):
        return False
    selected = selection(items, into.columns)
    app.statements.append(
        f"INSERT INTO {into.name} SELECT {selected} FROM {source.name} EMIT CHANGES;"
    )
    app.oracle.execute(
        f'INSERT INTO "{into.name}" SELECT {SYSTEM}, {named(items, into.columns)} FROM {source.rows} q0'
    )
    app.relations[-1] = replace(into, roots=into.roots | source.roots)
    return True


def union_all(app: Application) -> bool:
    """Two streams in one, in FROM or alone."""
    first, second = app.pick("STREAM"), app.pick("STREAM")
    if first is None or second is None:
        return False
    if [col.kind for col in first.keys] != [col.kind for col in second.keys]:
        return False
    scopes = first.scope("", "q0"), second.scope("", "q0")
    if any(len(scope) < len(one.keys) for scope, one in zip(scopes, (first, second), strict=True)):
        return False
    items = [app.expressions(scopes[0]).any() for _ in range(app.random.randrange(1, 4))]
    others = [app.expressions(scopes[1]).of(item.kind) for item in items]
    names = app.names(len(first.keys) + len(items))
    kinds = [col.kind for col in first.keys] + [item.kind for item in items]
    columns = [Col(name, kind) for name, kind in zip(names, kinds, strict=True)]
    keys, values = tuple(columns[: len(first.keys)]), tuple(columns[len(first.keys) :])
    if any(item.kind == "DECIMAL" for item in items):
        return False
    relation = replace(
        first,
        name=new_name(app),
        keys=keys,
        values=values,
        roots=first.roots | second.roots,
        ordered=False,
        timed=first.timed and second.timed,
    )
    parts, contents = [], []
    for source, scope, own in ((first, scopes[0], items), (second, scopes[1], others)):
        of_key = scope[: len(keys)]
        given = [*of_key, *select_with_keys(own, of_key)]
        listed = ", ".join(
            f"{one.sql} AS {col.name}" for one, col in zip(given, columns, strict=True)
        )
        parts.append(f"SELECT {listed} FROM {source.name}")
        contents.append(f"SELECT {SYSTEM}, {named(given, columns)} FROM {source.rows} q0")
    query = " UNION ALL ".join(parts)
    if app.chance(0.4):
        query = f"SELECT * FROM ({query}) AS x"
    text = f"CREATE STREAM {relation.name}{app.properties(keys)} AS {query} EMIT CHANGES;"
    app.add(text, relation, " UNION ALL ".join(contents))
    return True


def distinct(app: Application, kind: str) -> bool:
    """SELECT DISTINCT: a table of the distinct rows."""
    source = app.pick(kind)
    if source is None:
        return False
    scope = source.scope("", "q0")
    of = app.expressions(scope)
    items = _distinct([of.any(KEYS, 1) for _ in range(app.random.choice([1, 2]))])
    items = [one for one in items if has_column(one, scope)]
    if not items or source.is_table:
        return False
    keys = tuple(Col(n, one.kind) for n, one in zip(app.names(len(items)), items, strict=True))
    relation = Relation(new_name(app), "TABLE", keys, (), source.roots, timed=source.timed)
    selected = ", ".join(f"{one.sql} AS {key.name}" for one, key in zip(items, keys, strict=True))
    content = _groups(source, relation, _Grouped(items))
    app.add(
        f"CREATE TABLE {relation.name}{app.properties(keys)} AS SELECT DISTINCT {selected} FROM {source.name};",
        relation,
        content,
    )
    return True


def selection(given: Sequence[Written], columns: Sequence[Col]) -> str:
    """Return a SELECT list: values in order, keys at any position."""
    pairs = [f"{one.sql} AS {col.name}" for one, col in zip(given, columns, strict=True)]
    return ", ".join(pairs)


def named(given: Sequence[Written], columns: Sequence[Col]) -> str:
    return ", ".join(f'{one.duck} AS "{col.name}"' for one, col in zip(given, columns, strict=True))


def _distinct(given: Sequence[Written]) -> list[Written]:
    return list({one.sql: one for one in given}.values())


def has_column(one: Written, scope: Sequence[Written]) -> bool:
    return any(col.duck in one.duck for col in scope)


def select_with_keys(items: Sequence[Written], keys: Sequence[Written]) -> list[Written]:
    """Return the values selected in addition to keys; a key as a value is marked."""
    taken = {key.sql for key in keys}
    return [one._replace(sql=f"AS_VALUE({one.sql})") if one.sql in taken else one for one in items]


def new_name(app: Application) -> str:
    return f"R{len(app.relations)}"


QUERIES: Final[tuple[Callable[[Application], bool], ...]] = (
    lambda app: select(app, "STREAM"),
    lambda app: select(app, "TABLE"),
    partition_by,
    lambda app: group_by(app, "STREAM"),
    lambda app: group_by(app, "STREAM"),
    lambda app: group_by(app, "TABLE"),
    insert_into,
    union_all,
    lambda app: distinct(app, "STREAM"),
)
