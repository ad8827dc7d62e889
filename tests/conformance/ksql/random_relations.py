# ruff: noqa: S608 - the statements are ours
"""A random application: streams and tables, their statements, and their rows in DuckDB.

    _SEQ    when a record was written, of all topics together      _TS     its timestamp
    _TOMB   a deletion of a table row                               and all columns, those of the key too

A table with `changes` has a row for each change, of which the last one per key is valid; a table
without has its final rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, NamedTuple

import duckdb

from conformance.ksql.random_expressions import Expressions, Written, duck_row
from conformance.ksql.random_types import KAFKA, KINDS, drawn
from duolog.ksql.catalog.catalog import SqlColumn, SqlFormat
from duolog.plan.types import BIGINT, INT, STRING
from duolog.testing.qtt.bytes import encode

NAMES: Final = ("A", "B", "C", "D", "E", "V", "W", "ID", "TOTAL", "CITY")
BAG: Final = "BAG"
"""The type of a list without a guaranteed order; no expression uses it."""
_KEY_TYPES: Final = {"INT": INT, "BIGINT": BIGINT, "STRING": STRING}


class Col(NamedTuple):
    """A column: its name and the name of its type."""

    name: str
    kind: str


class Input(NamedTuple):
    """A record written to a topic, with its position among all records."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


@dataclass(frozen=True)
class Relation:
    """A stream or table."""

    name: str
    kind: Literal["STREAM", "TABLE"]
    keys: tuple[Col, ...]
    values: tuple[Col, ...]
    roots: frozenset[str]
    """The topics that all of it comes from."""
    changes: bool = False
    ordered: bool = True
    """True if `_SEQ` is a total order of the records of a stream."""
    timed: bool = True
    """True if `_TS` is the timestamp of a record."""
    window: Literal["", "TIME", "SESSION"] = ""

    @property
    def columns(self) -> tuple[Col, ...]:
        return self.keys + self.values

    @property
    def is_table(self) -> bool:
        return self.kind == "TABLE"

    @property
    def bounds(self) -> tuple[str, ...]:
        return ("WINDOWSTART", "WINDOWEND") if self.window else ()

    @property
    def present(self) -> str:
        """The current rows, as a query of DuckDB."""
        if not self.is_table or not self.changes:
            return f'(SELECT * FROM "{self.name}")'
        keys = ", ".join(f'"{key.name}"' for key in self.keys)
        newest = f'SELECT * FROM "{self.name}" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY _SEQ DESC) = 1'
        return f"(SELECT * FROM ({newest}) WHERE NOT _TOMB)"

    @property
    def rows(self) -> str:
        """All records of a stream, all changes of a table."""
        return f'(SELECT * FROM "{self.name}")'

    def scope(self, sql: str, duck: str) -> list[Written]:
        """Return its columns as expressions; `sql` and `duck` are its names in both languages."""
        return [
            Written(f"{sql}.{col.name}" if sql else col.name, f'{duck}."{col.name}"', col.kind)
            for col in self.columns
            if col.kind != BAG
        ]


@dataclass
class Application:
    """Statements, records and relations of one seed."""

    seed: int
    in_parts: bool = False
    """True if micro-batches read many records.

    Tables are then written before streams, which join their final content, and records of several
    partitions have no order.
    """
    spread_ms: int = 3 * 3_600_000
    random: Random = field(init=False)
    statements: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    oracle: Any = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)  # noqa: S311 - no secret

    def close(self) -> None:
        self.oracle.close()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def names(self, count: int, taken: Sequence[str] = ()) -> list[str]:
        """Return distinct column names."""
        free = [name for name in NAMES if name not in taken]
        return self.random.sample(free, count)

    def expressions(self, columns: Sequence[Written]) -> Expressions:
        return Expressions(self.random, columns)

    def pick(self, kind: str, *, joined: bool = False) -> Relation | None:
        """Return one of the streams or tables that a query can read."""
        found = [one for one in self.relations if one.kind == kind and not one.window]
        if joined:
            found = [one for one in found if one.keys]
        return self.random.choice(found) if found else None

    def key_format(self, keys: Sequence[Col]) -> str:
        """Return a key format that supports these keys; empty if there is none."""
        if not keys:
            return ""
        simple = len(keys) == 1 and keys[0].kind in KAFKA
        return "KAFKA" if simple and self.chance(0.5) else "JSON"

    def properties(self, keys: Sequence[Col]) -> str:
        """Return the WITH clause of a result with these keys."""
        of_key = self.key_format(keys)
        given = [f"KEY_FORMAT = '{of_key}'"] if of_key else []
        if self.chance(0.3):
            given.append(f"PARTITIONS = {self.random.randrange(1, 5)}")
        return f" WITH ({', '.join(given)})" if given else ""

    def add(self, statement: str, relation: Relation, content: str) -> None:
        """Add a stream or table that a query creates; `content` is its query in DuckDB."""
        self.statements.append(statement)
        try:
            self.oracle.execute(f'CREATE TABLE "{relation.name}" AS {content}')
        except duckdb.Error as error:
            raise AssertionError(f"seed {self.seed}: {error}\n{content}") from error
        self.relations.append(relation)

    # Sources.

    def declare(self, streams: int, tables: int) -> None:
        """Declare sources over topics, and draw their records."""
        declared = [self._declared("STREAM", at) for at in range(streams)]
        declared += [self._declared("TABLE", at) for at in range(tables)]
        turns = [at for at in range(len(declared)) for _ in range(self.random.randrange(8, 28))]
        self.random.shuffle(turns)
        if self.in_parts:
            turns.sort(key=lambda at: not declared[at][0].is_table)
        rows: dict[int, list[str]] = {at: [] for at in range(len(declared))}
        for seq, at in enumerate(turns):
            relation, of_key = declared[at]
            row = self._record(relation, of_key, seq)
            if row:
                rows[at].append(row)
        for at, (relation, _) in enumerate(declared):
            self._keep(relation, rows[at])

    def _declared(self, kind: Literal["STREAM", "TABLE"], at: int) -> tuple[Relation, SqlFormat]:
        name = f"{kind[0]}{at}"
        count = (
            self.random.choice([1, 1, 1, 2])
            if kind == "TABLE"
            else self.random.choice([0, 1, 1, 2])
        )
        names = self.names(count + self.random.randrange(2, 6))
        keys = tuple(
            Col(one, self.random.choice(["STRING", "INT", "INT", "BIGINT"]))
            for one in names[:count]
        )
        # Prefer keys that can be joined.
        values = tuple(
            Col(one, self.random.choice(["INT", "STRING", "INT", *KINDS])) for one in names[count:]
        )
        word = "KEY" if kind == "STREAM" else "PRIMARY KEY"
        columns = ", ".join(
            [f"{col.name} {KINDS[col.kind].sql} {word}" for col in keys]
            + [f"{col.name} {KINDS[col.kind].sql}" for col in values]
        )
        of_key = self.key_format(keys)
        given = [
            f"KAFKA_TOPIC = '{name}'",
            "VALUE_FORMAT = 'JSON'",
            f"PARTITIONS = {self.random.randrange(1, 5)}",
        ]
        given += [f"KEY_FORMAT = '{of_key}'"] if of_key else []
        self.statements.append(f"CREATE {kind} {name} ({columns}) WITH ({', '.join(given)});")
        relation = Relation(
            name, kind, keys, values, frozenset([name]), kind == "TABLE", not self.in_parts
        )
        return relation, SqlFormat(of_key or "NONE")

    def _record(self, relation: Relation, of_key: SqlFormat, seq: int) -> str:
        """Draw and write a record; return it as a row for DuckDB, empty if it is not a row."""
        key = [self._key(col) for col in relation.keys]
        no_key = bool(key) and self.chance(0.05)
        values = [drawn(self.random, col.kind) for col in relation.values]
        no_value = self.chance(0.2 if relation.is_table else 0.05)
        timestamp = 1_700_000_000_000 + self.random.randrange(self.spread_ms)
        if self.in_parts and relation.is_table:
            timestamp -= self.spread_ms
        data = None if no_key else _key_bytes(of_key, relation.keys, key)
        reported = {col.name: one for col, one in zip(relation.values, values, strict=True)}
        reported = {
            name: one for name, one in reported.items() if one is not None or self.chance(0.5)
        }
        value = None if no_value else encode(SqlFormat("JSON"), (), reported)
        self.inputs.append(Input(relation.name, data, value, timestamp))
        if no_key if relation.is_table else no_value:
            return ""
        key = [None] * len(key) if no_key else key
        row = [*key, *([None] * len(values) if no_value else values)]
        kinds = [col.kind for col in relation.columns]
        return f"({seq}, {timestamp}, {no_value}, {duck_row(row, kinds)})"

    def _key(self, col: Col) -> Any:
        return self.random.choice(KINDS[col.kind].values[2:7])

    def _keep(self, relation: Relation, rows: Sequence[str]) -> None:
        names = ", ".join(
            f'"{name}"' for name in ("_SEQ", "_TS", "_TOMB", *(c.name for c in relation.columns))
        )
        empty = duck_row([None] * len(relation.columns), [c.kind for c in relation.columns])
        given = ", ".join([*rows, f"(-1, 0, true, {empty})"])
        self.oracle.execute(
            f'CREATE TABLE "{relation.name}" AS SELECT * FROM (VALUES {given}) q({names}) WHERE _SEQ >= 0'
        )
        self.relations.append(relation)


def _key_bytes(of: SqlFormat, columns: Sequence[Col], values: Sequence[Any]) -> bytes | None:
    if not columns:
        return None
    typed = [SqlColumn(col.name, _KEY_TYPES[col.kind], "KEY") for col in columns]
    if len(columns) == 1:
        return encode(of, typed, values[0])
    return encode(of, typed, dict(zip([col.name for col in columns], values, strict=True)))
