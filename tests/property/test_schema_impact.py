"""Readers that an impact analysis calls safe decode and run, in 5,000 random evolutions."""

import io
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import fastavro
import pytest

from duolog.core.types import Struct
from duolog.ksql.session import SqlSession
from duolog.registry.in_process import InProcessRegistry
from duolog.runtime.impact.columns import column_reasons
from duolog.runtime.impact.readers import Part, sql_findings
from duolog.runtime.impact.records import RecordTrial, StoredRecord
from duolog.schemas.columns import type_of
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.serde.avro import decoder
from duolog.serde.serde import value_serde
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

Json = Any

EVOLUTIONS: Final = 500
SEEDS: Final = range(10)
RUN: Final = 150
ADDRESS: Final = "mock://test-impact-property"
_PLAIN: Final = ("int", "long", "float", "double", "string", "bytes", "boolean")
_VALUES: Final[dict[str, Json]] = {
    "int": 7,
    "long": 2**40,
    "float": 1.5,
    "double": 2.25,
    "string": "text",
    "bytes": b"ab",
    "boolean": True,
}
# fastavro returns the default of bytes as a text.
_DEFAULTS: Final[dict[str, Json]] = {of: value for of, value in _VALUES.items() if of != "bytes"}


class Evolution:
    """A record schema and a changed one."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names = 0
        self.old = [self._field() for _ in range(random.randint(1, 5))]
        self.new = [dict(field) for field in self.old]
        for _ in range(random.randint(1, 3)):
            self._change()

    def _field(self) -> dict[str, Json]:
        self._names += 1
        of = self._type(2)
        field = {"name": f"f{self._names}", "type": of}
        if isinstance(of, str) and of in _DEFAULTS and self._random.random() < 0.5:
            field["default"] = _DEFAULTS[of]
        elif isinstance(of, list):
            field["default"] = None
        return field

    def _type(self, depth: int) -> Json:
        kind = self._random.randrange(10 if depth else 6)
        if kind < 6:
            return self._random.choice(_PLAIN)
        if kind == 6:
            return ["null", self._random.choice(_PLAIN)]
        if kind == 7:
            return {"type": "array", "items": self._type(depth - 1)}
        if kind == 8:
            return {"type": "map", "values": self._type(depth - 1)}
        self._names += 1
        name = f"R{self._names}"
        fields = [{"name": f"n{at}", "type": self._type(depth - 1)} for at in range(2)]
        return {"type": "record", "name": name, "fields": fields}

    def _change(self) -> None:
        kind = self._random.randrange(6)
        at = self._random.randrange(len(self.new)) if self.new else -1
        if kind == 0 or at < 0:
            self.new.append(self._field())
        elif kind == 1:
            del self.new[at]
        elif kind == 2:
            self.new[at] = {"name": self.new[at]["name"], "type": self._type(2)}
        elif kind == 3:
            before = self.new[at]["name"]
            self._names += 1
            renamed = {"name": f"f{self._names}", "type": self.new[at]["type"]}
            aliased = self._random.random() < 0.5
            self.new[at] = renamed | ({"aliases": [before]} if aliased else {})
        elif kind == 4 and isinstance(self.new[at]["type"], str):
            of = self.new[at]["type"]
            self.new[at] = {"name": self.new[at]["name"], "type": ["null", of], "default": None}
        else:
            self._random.shuffle(self.new)


def text_of(fields: list[dict[str, Json]]) -> str:
    return json.dumps({"type": "record", "name": "Row", "fields": fields})


def value_of(of: Json, random: Random) -> Json:
    if isinstance(of, list):
        return value_of(random.choice([branch for branch in of if branch != "null"]), random)
    if isinstance(of, str):
        return _VALUES[of]
    if of["type"] == "array":
        return [value_of(of["items"], random) for _ in range(random.randrange(3))]
    if of["type"] == "map":
        return {f"k{at}": value_of(of["values"], random) for at in range(random.randrange(3))}
    return {field["name"]: value_of(field["type"], random) for field in of["fields"]}


def written(fields: list[dict[str, Json]], random: Random) -> tuple[dict[str, Json], bytes]:
    value = {field["name"]: value_of(field["type"], random) for field in fields}
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(text_of(fields))), value)
    return value, target.getvalue()


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + payload


@pytest.mark.parametrize("seed", SEEDS)
def test_safe_columns_are_read_with_the_values_that_were_written(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the seed makes it repeatable
    safe = 0
    for _ in range(EVOLUTIONS):
        evolution = Evolution(random)
        old, new = (parse(Language.AVRO, text_of(of), {}) for of in (evolution.old, evolution.new))
        columns_type = type_of(old)
        assert isinstance(columns_type, Struct)
        columns = columns_type.fields
        needed = {one.name for one in columns if random.random() < 0.6}
        if column_reasons(new, columns, needed=needed):
            continue
        safe += 1
        value, payload = written(evolution.new, random)
        upper = {name.upper(): of for name, of in value.items()}

        row = decoder(new, columns, bare=False)(payload)  # type: ignore[arg-type]

        for column, found in zip(columns, row, strict=True):
            if column.name in needed:
                assert found is not None, (seed, column, evolution.new)
                assert _plain(found) == _plain(upper[column.name]), (seed, evolution.new)
    assert EVOLUTIONS > safe > EVOLUTIONS / 20, "the evolutions are neither all safe nor all broken"


def _plain(value: Json) -> Json:
    """Return a value with the names of fields in upper case, as columns have them."""
    if isinstance(value, dict):
        return {str(name).upper(): _plain(of) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


@pytest.mark.parametrize("seed", SEEDS)
def test_records_that_are_called_readable_are_read_by_fastavro(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the seed makes it repeatable
    registry = InProcessRegistry()
    registry.set_compatibility("NONE")
    readable = compatible = 0
    for number in range(EVOLUTIONS):
        evolution = Evolution(random)
        new = parse(Language.AVRO, text_of(evolution.new), {})
        text = SchemaText(Language.AVRO, text_of(evolution.old))
        schema_id = registry.register(f"s{number}", text)
        _, payload = written(evolution.old, random)
        record = StoredRecord(0, number, None, framed(schema_id, payload))

        tried = RecordTrial(new, registry).read("t", [record], is_key=False)

        assert tried.count == 1
        is_compatible = not new.incompatibilities(registry.by_id(schema_id))
        compatible += is_compatible
        if is_compatible:
            assert tried.broken == (), (seed, evolution.old, evolution.new)
        if not tried.broken:
            readable += 1
            read = _resolved(evolution, payload)
            assert fastavro.validate(read, json.loads(text_of(evolution.new))), (seed, number)
    assert EVOLUTIONS > readable >= compatible > 0


def _resolved(evolution: Evolution, payload: bytes) -> Json:
    old, new = (json.loads(text_of(of)) for of in (evolution.old, evolution.new))
    return fastavro.schemaless_reader(
        io.BytesIO(payload), fastavro.parse_schema(old), fastavro.parse_schema(new)
    )


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    made.set_compatibility("NONE")
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def test_queries_that_are_called_safe_run_on_the_reference(registry: InProcessRegistry) -> None:
    random = Random(2026)  # noqa: S311
    ran = 0
    for number in range(RUN):
        evolution = Evolution(random)
        topic = f"t{number}"
        registry.register(f"{topic}-value", SchemaText(Language.AVRO, text_of(evolution.old)))
        new_text = SchemaText(Language.AVRO, text_of(evolution.new))
        session = _session(topic, evolution, random)
        new = parse(Language.AVRO, new_text.text, {})
        found = {
            one.name: one.verdict.value
            for one in sql_findings(session.state, "", [Part(topic, is_key=False)], new)
        }
        schema_id = registry.register(f"{topic}-value", new_text)
        _, payload = written(evolution.new, random)
        for query_id, query in session.state.queries.items():
            if found[query_id] != "safe":
                continue
            ran += 1
            given = SourceRecord(topic, 0, 0, 0, None, framed(schema_id, payload))
            (record,) = ReferenceEvaluator(query.planned.plan).run([given])
            (sink,) = query.planned.plan.sinks
            serde = value_serde("AVRO", sink.schema.value, sink.value_format.options)
            row = serde.deserialize(record.value)
            assert row is not None
            assert None not in row, (number, query.statement, evolution.new)
    assert ran > RUN / 10


def _session(topic: str, evolution: Evolution, random: Random) -> SqlSession:
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    list(session.run(f"CREATE STREAM s WITH (kafka_topic='{topic}', value_format='AVRO');"))
    used = [field["name"].upper() for field in evolution.old]
    chosen = ", ".join(random.sample(used, random.randint(1, len(used))))
    text = f"CREATE STREAM o WITH (kafka_topic='{topic}-o') AS SELECT {chosen} FROM s;"  # noqa: S608
    list(session.run(text))
    return session
