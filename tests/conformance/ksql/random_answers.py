"""Random SELECTs that return the current rows of a random application and end."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from conformance.ksql.random_expressions import Expressions, Written
from conformance.ksql.random_relations import Application, Relation
from conformance.ksql.random_types import KEYS, NUMBERS, comparable, order_of
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.syntax.script import parse
from duolog.testing.qtt.answers import Answering
from duolog.testing.qtt.topics import Topics
from duolog.testing.reference import SourceRecord

_EPOCH: Final = dt.date(1970, 1, 1)


def wrong_answers(
    app: Application, session: SqlSession, written: dict[str, list[SourceRecord]], count: int = 4
) -> list[str]:
    """Return the SELECTs whose rows differ from DuckDB's."""
    answering = Answering(session, Topics(written))
    found = []
    for _ in range(count):
        draw = _joined if app.chance(0.4) else _drawn
        sql, duck, kinds = draw(app, app.random.choice(app.relations))
        (node,) = parse(f"{sql};")
        try:
            rows = answering.answer(node).rows  # type: ignore[arg-type]
        except SqlError as error:
            found.append(f"{sql}\n  {error}")
            continue
        actual = Counter(_compared(row, kinds) for row in rows)
        wanted = Counter(_compared(row, kinds) for row in app.oracle.execute(duck).fetchall())
        if actual != wanted:
            missing = sorted((wanted - actual).elements(), key=order_of)
            extra = sorted((actual - wanted).elements(), key=order_of)
            found.append(f"{sql}\n  {duck}\n  missing {missing[:4]}, too many {extra[:4]}")
    return found


def _drawn(app: Application, relation: Relation) -> tuple[str, str, Sequence[str]]:
    scope = relation.scope("", "q0")
    of = app.expressions(scope)
    if relation.window:
        scope = [*scope, *(Written(name, f"q0.{name}", "BIGINT") for name in relation.bounds)]
        of = app.expressions(scope)
    where = of.condition() if app.chance(0.6) else None
    sql, duck, kinds = _grouped(app, of) if app.chance(0.4) else _plain(app, of)
    begin, _, end = sql.partition(" GROUP BY ")
    condition = f" WHERE {where.sql}" if where else ""
    sql = f"{begin} FROM {relation.name}{condition}" + (f" GROUP BY {end}" if end else "")
    begin, _, end = duck.partition(" GROUP BY ")
    condition = f" WHERE {where.duck}" if where else ""
    rows = relation.present if relation.is_table else relation.rows
    duck = f"{begin} FROM {rows} q0{condition}" + (f" GROUP BY {end}" if end else "")
    return sql, duck, kinds


def _joined(app: Application, left: Relation) -> tuple[str, str, Sequence[str]]:
    """Draw a SELECT that joins two relations, or one with itself, by nullable columns."""
    right = app.random.choice(app.relations)
    scopes = left.scope("a", "q0"), right.scope("b", "q1")
    pairs = [(one, other) for one in scopes[0] for other in scopes[1] if one.kind == other.kind]
    pairs = [pair for pair in pairs if pair[0].kind in KEYS]
    if not pairs:
        return _drawn(app, left)
    one, other = app.random.choice(pairs)
    word = app.random.choice(["", "LEFT ", "RIGHT ", "FULL OUTER "])
    of = app.expressions([*scopes[0], *scopes[1]])
    sql, duck, kinds = _plain(app, of)
    where = of.condition() if app.chance(0.4) else None
    rows = [own.present if own.is_table else own.rows for own in (left, right)]
    sql += f" FROM {left.name} a {word}JOIN {right.name} b ON {one.sql} = {other.sql}"
    duck += f" FROM {rows[0]} q0 {word}JOIN {rows[1]} q1 ON {one.duck} = {other.duck}"
    if where:
        sql, duck = f"{sql} WHERE {where.sql}", f"{duck} WHERE {where.duck}"
    return sql, duck, kinds


def _plain(app: Application, of: Expressions) -> tuple[str, str, Sequence[str]]:
    items = [of.any() for _ in range(app.random.randrange(1, 5))]
    word = "DISTINCT " if app.chance(0.2) and all(item.kind in KEYS for item in items) else ""
    return (
        f"SELECT {word}{', '.join(f'{item.sql} AS X{at}' for at, item in enumerate(items))}",
        f"SELECT {word}{', '.join(item.duck for item in items)}",
        [item.kind for item in items],
    )


def _grouped(app: Application, of: Expressions) -> tuple[str, str, Sequence[str]]:
    # A number in GROUP BY is the position of a column.
    key, number = of.column(KEYS) or Written("LEN('a')", "1", "INT"), of.any(NUMBERS, 1)
    number = number if number.kind != "DECIMAL" else Written("1", "1", "INT")
    items = [
        key,
        Written("COUNT(*)", "count(*)", "BIGINT"),
        Written(f"SUM({number.sql})", f"sum({number.duck})", number.kind),
        Written(f"MAX({key.sql})", f"max({key.duck})", key.kind),
    ]
    return (
        f"SELECT {', '.join(f'{item.sql} AS X{at}' for at, item in enumerate(items))} GROUP BY {key.sql}",
        f"SELECT {', '.join(item.duck for item in items)} GROUP BY {key.duck}",
        [item.kind for item in items],
    )


def _compared(row: Sequence[Any], kinds: Sequence[str]) -> tuple[Any, ...]:
    return tuple(comparable(_number(one)) for one in row)


def _number(value: Any) -> Any:
    """Return a timestamp as the number that DuckDB compares."""
    match value:
        case dt.datetime():
            return round(value.replace(tzinfo=dt.UTC).timestamp() * 1000)
        case dt.date():
            return (value - _EPOCH).days
        case dt.time():
            since = dt.datetime.combine(_EPOCH, value) - dt.datetime.combine(_EPOCH, dt.time())
            return since // dt.timedelta(milliseconds=1)
        case dt.timedelta():
            return value // dt.timedelta(milliseconds=1)
        case _:
            return value
