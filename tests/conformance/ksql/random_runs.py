# ruff: noqa: S608 - the statements are ours
"""Run a random application on the in-memory kernel, and compare its output with DuckDB.

one by one    each record through all queries before the next one is written
in parts      each query by itself, over its topics in few micro-batches, in several tasks, with a record cache
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from conformance.ksql.random_answers import wrong_answers
from conformance.ksql.random_joins import JOINS
from conformance.ksql.random_queries import QUERIES
from conformance.ksql.random_relations import BAG, Application, Input, Relation
from conformance.ksql.random_types import comparable, order_of
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.session import PersistentQuery, SqlSession
from duolog.plan.partitioner import partition_of
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.qtt.bytes import decode, unwindowed
from duolog.testing.reference import SourceRecord
from duolog.testing.sql.mesh import Mesh

CACHE_BYTES: Final = 10 << 20
TASKS: Final = 3
_BOUNDS: Final = ("WINDOWSTART", "WINDOWEND")


def application(seed: int, queries: int, *, in_parts: bool) -> Application:
    """Return a random application, its records, and DuckDB's content of each relation."""
    app = Application(seed, in_parts)
    app.declare(streams=app.random.choice([1, 2, 2]), tables=app.random.choice([1, 2, 2]))
    made = len(app.relations) + queries
    for _ in range(queries * 10):
        app.random.choice([*QUERIES, *JOINS])(app)
        if len(app.relations) >= made:
            break
    return app


def planned(app: Application) -> tuple[SqlSession, list[PersistentQuery]]:
    """Return the queries of an application.

    Raises:
        AssertionError: a statement is refused.
    """
    session = SqlSession(given={"auto.offset.reset": "earliest"})
    queries = []
    for statement in app.statements:
        try:
            queries += [done.query for done in session.run(statement) if done.query is not None]
        except SqlError as error:
            raise AssertionError(f"seed {app.seed}: {error}\n{statement}") from error
    return session, queries


def run_one_by_one(app: Application) -> list[str]:
    """Return the differences from DuckDB if records are processed one by one."""
    session, queries = planned(app)
    mesh = Mesh()
    try:
        for query in queries:
            mesh.begin(query)
        for one in app.inputs:
            mesh.write(one.topic, one.key, one.value, one.timestamp_ms)
        written = {
            info.topic: list(_taken(mesh, info)) for info in session.catalog.sources.values()
        }
    finally:
        mesh.close()
    return _differences(app, session, written)


def _taken(mesh: Mesh, info: SourceInfo) -> Iterator[SourceRecord]:
    while (record := mesh.take(info.topic)) is not None:
        yield record


def run_in_parts(app: Application, parts: int = 2) -> list[str]:
    """Return the differences from DuckDB if queries read many records per micro-batch."""
    session, queries = planned(app)
    topics = _Topics()
    for one in app.inputs:
        topics.write(one)
    for query in queries:
        topics.run(query, parts)
    return _differences(app, session, topics.written)


class _Topics:
    """Topics with several partitions, each with its records."""

    def __init__(self) -> None:
        self.written: dict[str, list[SourceRecord]] = defaultdict(list)
        self._ends: Counter[tuple[str, int]] = Counter()

    def write(self, one: Input) -> None:
        topic, written = one.topic, self.written[one.topic]
        partition = len(written) % TASKS if one.key is None else partition_of(one.key, TASKS)
        offset = self._ends[topic, partition]
        self._ends[topic, partition] += 1
        place = topic, partition, offset, one.timestamp_ms
        written.append(SourceRecord(*place, one.key, one.value, ()))

    def run(self, query: PersistentQuery, parts: int) -> None:
        plan = query.planned.plan
        infos = {info.topic: info for info in query.planned.sources}
        # The other side of a stream's join is written before the stream.
        first = {topic for topic, info in infos.items() if info.is_table}
        first = first if len(first) < len(infos) else set()
        evaluator = KernelEvaluator(
            plan, tasks=TASKS, cache_bytes_max=CACHE_BYTES, passes_over=True
        )
        try:
            for part in range(parts):
                records: list[SourceRecord] = []
                for topic in infos:
                    parts_of = 1 if topic in first else parts
                    of, at = self.written[topic], min(part, parts_of)
                    end = min(part + 1, parts_of)
                    records += of[len(of) * at // parts_of : len(of) * end // parts_of]
                for out in evaluator.run(records):
                    self.write(Input(out.topic, out.key, out.value, out.timestamp_ms))
        finally:
            evaluator.close()


def _differences(
    app: Application, session: SqlSession, written: dict[str, list[SourceRecord]]
) -> list[str]:
    found = []
    for relation in app.relations:
        if not relation.name.startswith("R"):
            continue
        info = session.catalog.sources[relation.name]
        records = _table(written[info.topic]) if relation.is_table else written[info.topic]
        actual = Counter(_row(relation, info, one) for one in records if one.value is not None)
        wanted = Counter(_expected_rows(app, relation))
        if actual != wanted:
            missing = sorted((wanted - actual).elements(), key=order_of)
            extra = sorted((actual - wanted).elements(), key=order_of)
            found.append(
                f"{relation.name} ({', '.join(_names(relation))}): missing {missing[:5]}, too many {extra[:5]}"
            )
    return found or wrong_answers(app, session, written)


def report(app: Application, differences: list[str]) -> str:
    """Return the text with which a developer can reproduce a failure."""
    statements = "\n".join(app.statements)
    return "\n".join([f"seed {app.seed}, in_parts={app.in_parts}", statements, *differences])


def _table(records: list[SourceRecord]) -> list[SourceRecord]:
    return list({one.key: one for one in records if one.key is not None}.values())


def _names(relation: Relation) -> list[str]:
    times = ["ROWTIME"] if relation.timed else []
    return [*times, *relation.bounds, *(col.name for col in relation.columns)]


def _row(relation: Relation, info: SourceInfo, record: SourceRecord) -> tuple[Any, ...]:
    data, bounds = unwindowed(record.key, info.window)
    key = decode(info.key_format, info.key, data)
    value = decode(info.value_format, info.value, record.value)
    row: dict[str, Any] = {"ROWTIME": record.timestamp_ms}
    if bounds:
        row |= dict(zip(_BOUNDS, bounds, strict=True))
    row |= _columns([col.name for col in relation.keys], key)
    if relation.values:
        row |= _columns([col.name for col in relation.values], value)
    return _compared(relation, row)


def _columns(names: list[str], found: Any) -> dict[str, Any]:
    if isinstance(found, dict) and set(found) == set(names):
        return found
    return dict.fromkeys(names) if found is None else {names[0]: found}


def _expected_rows(app: Application, relation: Relation) -> list[tuple[Any, ...]]:
    rows = relation.present if relation.is_table else relation.rows
    names = [f'"{col.name}"' for col in relation.columns]
    answer = app.oracle.execute(f"SELECT _TS, {', '.join([*relation.bounds, *names])} FROM {rows}")
    called = ["ROWTIME", *relation.bounds, *(col.name for col in relation.columns)]
    return [_compared(relation, dict(zip(called, row, strict=True))) for row in answer.fetchall()]


def _compared(relation: Relation, row: dict[str, Any]) -> tuple[Any, ...]:
    kinds = {col.name: col.kind for col in relation.columns}
    return tuple(_one(row[name], kinds.get(name, "")) for name in _names(relation))


def _one(value: Any, kind: str) -> Any:
    if kind == "MAP" and value is not None:
        # DuckDB returns {'k': 1}; an empty map has another form.
        return comparable(dict(value))
    if kind == BAG:
        return tuple(sorted((comparable(one) for one in value or []), key=order_of))
    if kind == "DOUBLE" and isinstance(value, str):
        return value
    return comparable(Decimal(value) if kind == "DECIMAL" and isinstance(value, str) else value)
