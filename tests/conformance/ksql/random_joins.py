# ruff: noqa: S608 - the statements are ours
"""Random joins: stream-table, table-table, foreign-key, stream-stream, and chains of them."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from conformance.ksql.random_expressions import Written
from conformance.ksql.random_queries import has_column, named, new_name, select_with_keys, selection
from conformance.ksql.random_relations import BAG, Application, Col, Relation

_ENDS: Final = 1 << 30


class _Matched(NamedTuple):
    """Pairs of a join's ON: the left side and the table's key."""

    lefts: tuple[Written, ...]
    rights: tuple[Written, ...]

    @property
    def sql(self) -> str:
        return " AND ".join(
            f"{a.sql} = {b.sql}" for a, b in zip(self.lefts, self.rights, strict=True)
        )

    @property
    def duck(self) -> str:
        return " AND ".join(
            f"{a.duck} = {b.duck}" for a, b in zip(self.lefts, self.rights, strict=True)
        )


def _can_meet(app: Application, stream: Relation, table: Relation) -> bool:
    """Return True if the matching row of a table is deterministic."""
    if stream.roots & table.roots or not _joinable(table):
        return False
    return table.changes or (app.in_parts and all(root.startswith("T") for root in table.roots))


def _joinable(relation: Relation) -> bool:
    return bool(relation.keys) and not relation.window and all(c.kind != BAG for c in relation.keys)


def _valid(table: Relation, name: str) -> str:
    """Return a table's rows with `_UNTIL`, the start of the next row of their key."""
    if not table.changes:
        return f"(SELECT *, {_ENDS} AS _UNTIL FROM {table.rows}) {name}"
    keys = ", ".join(f'"{key.name}"' for key in table.keys)
    until = f"lead(_SEQ, 1, {_ENDS}) OVER (PARTITION BY {keys} ORDER BY _SEQ)"
    return f"(SELECT * FROM (SELECT *, {until} AS _UNTIL FROM {table.rows}) WHERE NOT _TOMB) {name}"


def _matches(
    app: Application, scope: Sequence[Written], right: Relation, sql: str, duck: str, *, plain: bool
) -> _Matched | None:
    """Return the left side of a key match: columns, or expressions unless `plain`."""
    rights = tuple(right.scope(sql, duck)[: len(right.keys)])
    if len(rights) < len(right.keys):
        return None
    of = app.expressions(scope)
    lefts = []
    for one in rights:
        found = of.column([one.kind])
        if not plain and app.chance(0.3):
            found = of.of(one.kind, 1)
            found = found if has_column(found, scope) else None
        if found is None or found in lefts:
            return None
        lefts.append(found)
    return _Matched(tuple(lefts), rights)


def stream_with_tables(app: Application) -> bool:
    """A stream joined with one table, or with two."""
    stream = app.pick("STREAM")
    tables = [
        one for one in app.relations if one.is_table and stream and _can_meet(app, stream, one)
    ]
    if stream is None or not tables:
        return False
    scope = stream.scope("s", "q0")
    visible, duck, sql = list(scope), f"{stream.rows} q0", f"{stream.name} s"
    chosen = app.random.sample(tables, min(len(tables), app.random.choice([1, 1, 2])))
    keys_of: Sequence[Written] = ()
    for at, table in enumerate(chosen):
        name, own = f"t{at}", f"q{at + 1}"
        match = _matches(app, scope, table, name, own, plain=at > 0 or len(table.keys) > 1)
        if match is None:
            return False
        by_column = all(one in scope for one in match.lefts)
        word = "" if app.chance(0.5) or not by_column else "LEFT "
        sql += f" {word}JOIN {table.name} {name} ON {match.sql}"
        until = f"{own}._SEQ < q0._SEQ AND q0._SEQ < {own}._UNTIL"
        duck += f" {word}JOIN {_valid(table, own)} ON {match.duck} AND {until}"
        visible += table.scope(name, own)[len(table.keys) :]
        keys_of = match.lefts if by_column else match.rights
    system = "q0._SEQ, q0._TS, q0._TOMB"
    sides = [stream, *chosen]
    return _add(app, _Joined(sql, duck, keys_of, visible, sides, system, ordered=True))


class _Joined(NamedTuple):
    """A join in both languages, its key, and the columns that can be selected."""

    sql: str
    duck: str
    keys_of: Sequence[Written]
    visible: Sequence[Written]
    sides: Sequence[Relation]
    system: str = "-1 AS _SEQ, 0 AS _TS, false AS _TOMB"
    ordered: bool = False


def _add(app: Application, joined: _Joined) -> bool:
    """Add a stream or table defined by a join."""
    sql, duck, keys_of, visible, sides, system, ordered = joined
    first = sides[0]
    of = app.expressions(visible)
    items = [of.any((), 1) for _ in range(app.random.randrange(1, 5))]
    items = select_with_keys(items, keys_of)
    names = app.names(len(keys_of) + len(items))
    keys = tuple(Col(n, one.kind) for n, one in zip(names, keys_of, strict=False))
    values = tuple(Col(n, one.kind) for n, one in zip(names[len(keys) :], items, strict=True))
    roots = frozenset[str]().union(*(side.roots for side in sides))
    relation = Relation(
        new_name(app),
        first.kind,
        keys,
        values,
        roots,
        ordered=ordered and first.ordered,
        timed=not first.is_table and all(one.timed for one in sides if not one.is_table),
    )
    where = of.condition() if app.chance(0.3) else None
    selected = selection([*keys_of, *items], relation.columns)
    text = (
        f"CREATE {first.kind} {relation.name}{app.properties(keys)} AS SELECT {selected} FROM {sql}"
    )
    text += f" WHERE {where.sql}" if where else ""
    content = f"SELECT {system}, {named([*keys_of, *items], relation.columns)} FROM {duck}"
    if where:
        content += f"{' AND' if ' WHERE ' in _outside(duck) else ' WHERE'} {where.duck}"
    app.add(f"{text} EMIT CHANGES;", relation, content)
    return True


def _outside(text: str) -> str:
    """Return a text without its parenthesized parts."""
    found, depth = [], 0
    for letter in text:
        depth += letter == "("
        if not depth:
            found.append(letter)
        depth -= letter == ")"
    return "".join(found)


def tables_by_key(app: Application) -> bool:
    """Tables joined by their primary keys, two or three."""
    tables = [one for one in app.relations if one.is_table and _joinable(one)]
    if not tables:
        return False
    first = app.random.choice(tables)
    kinds = [key.kind for key in first.keys]
    like = [one for one in tables if [key.kind for key in one.keys] == kinds and one != first]
    if not like:
        return False
    others = app.random.sample(like, min(len(like), app.random.choice([1, 1, 2])))
    many = len(others) > 1 or len(kinds) > 1
    left = first.scope("a0", "q0")
    keys_of = left[: len(kinds)]
    visible = left[len(kinds) :]
    sql, duck = f"{first.name} a0", f"{first.present} q0"
    for at, other in enumerate(others, 1):
        words = ["", "LEFT "] if many else ["", "LEFT ", "RIGHT ", "FULL OUTER "]
        word = app.random.choice(words)
        scope = other.scope(f"a{at}", f"q{at}")
        match = _Matched(tuple(left[: len(kinds)]), tuple(scope[: len(kinds)]))
        sql += f" {word}JOIN {other.name} a{at} ON {match.sql}"
        duck += f" {word}JOIN {other.present} q{at} ON {match.duck}"
        visible = [*visible, *scope[len(kinds) :]]
        if word == "RIGHT ":
            keys_of = scope[: len(kinds)]
        if word == "FULL OUTER ":
            both = f"coalesce({keys_of[0].duck}, {scope[0].duck})"
            keys_of = [Written("ROWKEY", both, kinds[0])]
    if not visible:
        return False
    return _add(app, _Joined(sql, duck, keys_of, visible, [first, *others]))


def tables_by_foreign_key(app: Application) -> bool:
    """A table joined with another one by a foreign key."""
    tables = [one for one in app.relations if one.is_table and _joinable(one)]
    if len(tables) < 2:
        return False
    left, right = app.random.sample(tables, 2)
    scope = left.scope("a", "q0")
    match = _matches(app, scope[len(left.keys) :], right, "b", "q1", plain=False)
    if match is None:
        return False
    word = app.random.choice(["", "LEFT "])
    sql = f"{left.name} a {word}JOIN {right.name} b ON {match.sql}"
    duck = f"{left.present} q0 {word}JOIN {right.present} q1 ON {match.duck}"
    visible = [*scope[len(left.keys) :], *right.scope("b", "q1")]
    keys_of = scope[: len(left.keys)]
    return _add(app, _Joined(sql, duck, keys_of, visible, [left, right]))


def streams(app: Application) -> bool:
    """Streams joined within a window; unmatched records are emitted at once (eagerly)."""
    left, right = app.pick("STREAM"), app.pick("STREAM")
    if left is None or right is None or left.roots & right.roots:
        return False
    scopes = left.scope("l", "q0"), right.scope("r", "q1")
    of = app.expressions(scopes[0])
    one = of.column(["STRING", "INT", "BIGINT"])
    other = app.expressions(scopes[1]).column([one.kind]) if one else None
    if one is None or other is None:
        return False
    minutes = app.random.choice([1, 10, 60])
    # Unmatched records are deterministic if records are processed one by one.
    alone = left.ordered and right.ordered
    word = app.random.choice(["", "LEFT ", "RIGHT ", "FULL OUTER "]) if alone else ""
    sql = f"{left.name} l {word}JOIN {right.name} r WITHIN {minutes} MINUTES ON {one.sql} = {other.sql}"
    match = f"{one.duck} = {other.duck} AND abs(q0._TS - q1._TS) <= {minutes * 60_000}"
    keys = {"": one, "LEFT ": one, "RIGHT ": other}
    both = f"coalesce({one.duck}, {other.duck})"
    key = keys.get(word, Written("ROWKEY", both, one.kind))
    sides = [f"SELECT {{}} FROM {left.rows} q0 JOIN {right.rows} q1 ON {match}"]
    if word in ("LEFT ", "FULL OUTER "):
        early = f"EXISTS (SELECT 1 FROM {right.rows} q1 WHERE {match} AND q1._SEQ < q0._SEQ)"
        none = f"(SELECT * FROM {right.rows} WHERE false) q1"
        sides.append(f"SELECT {{}} FROM {left.rows} q0 LEFT JOIN {none} ON true WHERE NOT {early}")
    if word in ("RIGHT ", "FULL OUTER "):
        early = f"EXISTS (SELECT 1 FROM {left.rows} q0 WHERE {match} AND q0._SEQ < q1._SEQ)"
        none = f"(SELECT * FROM {left.rows} WHERE false) q0"
        sides.append(f"SELECT {{}} FROM {right.rows} q1 LEFT JOIN {none} ON true WHERE NOT {early}")
    columns = [*scopes[0], *scopes[1]]
    inner = ", ".join(f"{col.duck} AS {_flat(col)}" for col in columns)
    times = "greatest(q0._SEQ, q1._SEQ) AS _SEQ, greatest(q0._TS, q1._TS) AS _TS, false AS _TOMB"
    duck = " UNION ALL ".join(side.format(f"{times}, {inner}") for side in sides)
    flat = [col._replace(duck=f"j.{_flat(col)}") for col in columns]
    keyed = key.duck
    for col, now in zip(columns, flat, strict=True):
        keyed = keyed.replace(col.duck, now.duck)
    key = key._replace(duck=keyed)
    visible = [col for col in flat if col.sql not in (one.sql, other.sql)] or flat[:1]
    system = "j._SEQ, j._TS, j._TOMB"
    return _add(app, _Joined(sql, f"({duck}) j", [key], visible, [left, right], system))


def _flat(col: Written) -> str:
    return '"' + col.duck.replace('"', "").replace(".", "_") + '"'


JOINS: Final[tuple[Callable[[Application], bool], ...]] = (
    stream_with_tables,
    stream_with_tables,
    tables_by_key,
    tables_by_key,
    tables_by_foreign_key,
    streams,
)
