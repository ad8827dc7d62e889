"""Topics whose records have schemas of many versions, or none that can be read."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import QueryError
from duolog.core.types import Column, parse_columns
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import Plan
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.columns import text_of
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import RegistryAwayError, SchemaText, provide, withdraw
from duolog.serde.row import Row
from duolog.serde.serde import value_serde
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER, Headers, framed, header_of, unframed
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord

ADDRESS = "mock://test-evolving"
LANGUAGES = {"AVRO": Language.AVRO, "JSON_SR": Language.JSON, "PROTOBUF": Language.PROTOBUF}
FORMATS = pytest.mark.parametrize("name", LANGUAGES)
VERSIONS = tuple(
    parse_columns(text) for text in ("A INT", "A INT, B STRING", "A INT, B STRING, C ARRAY<INT>")
)
ROWS: tuple[Row, ...] = ((1,), (2, "x"), (3, "y", [4]))


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    made.set_compatibility("NONE")  # JSON_SR's default model does not allow fields to be added
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def written(registry: InProcessRegistry, name: str, columns: tuple[Column, ...], row: Row) -> bytes:
    """Return the bytes of a producer whose latest schema has these columns."""
    schema = text_of(LANGUAGES[name], columns, name=None, bare=False)
    number = registry.register("t-value", schema)
    options = (("id", str(number)), ("registry", ADDRESS), ("schema", schema.text))
    data = value_serde(name, columns, options).serialize(row)
    assert data is not None
    return data


def plan_of(name: str) -> Plan:
    """Return the plan of a query that reads topic `t` with the latest version."""
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    text = (
        f"CREATE STREAM s (k STRING KEY) WITH (kafka_topic='t', value_format='{name}');"
        "CREATE STREAM out WITH (value_format='JSON') AS SELECT * FROM s;"
    )
    (plan,) = [done.query.planned.plan for done in session.run(text) if done.query]
    return plan


def run(plan: Plan, *values: bytes | None, headers: Headers = ()) -> tuple[list[SinkRecord], int]:
    """Return the records that a plan writes, and the number of those that it cannot read."""
    evaluator = ReferenceEvaluator(plan)
    records = [SourceRecord("t", 0, at, 0, b"k", data, headers) for at, data in enumerate(values)]
    return evaluator.run(records), evaluator.dropped


@FORMATS
def test_one_reader_reads_records_of_three_versions(registry: InProcessRegistry, name: str) -> None:
    records = [written(registry, name, *each) for each in zip(VERSIONS, ROWS, strict=True)]

    found, dropped = run(plan_of(name), *records, records[0])

    assert [record.value for record in found] == [
        b'{"A":1,"B":null,"C":null}',
        b'{"A":2,"B":"x","C":null}',
        b'{"A":3,"B":"y","C":[4]}',
        b'{"A":1,"B":null,"C":null}',
    ]
    assert dropped == 0


@FORMATS
def test_records_that_cannot_be_read_are_dropped_and_harm_no_other(
    registry: InProcessRegistry, name: str
) -> None:
    good = written(registry, name, VERSIONS[1], ROWS[1])
    other = registry.register("other", SchemaText(Language.AVRO, '"int"'))
    poison = [
        good[:-1],  # cut in its last field
        good[:3],
        b"\7" + good[1:],
        b'{"A":2,"B":"x"}',
    ]
    if name != "JSON_SR":  # JSON describes itself, whatever schema its id names
        # Schemas of another language, and that the registry does not know.
        poison += [framed(key, unframed(good).payload) for key in (other, 999_999)]

    found, dropped = run(plan_of(name), good, *poison, good)

    assert [record.value for record in found] == [b'{"A":2,"B":"x"}'] * 2
    assert dropped == len(poison)


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF"])
def test_a_registry_that_is_away_stops_only_records_of_schemas_not_seen_before(
    registry: InProcessRegistry, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (written(registry, name, VERSIONS[at], ROWS[at]) for at in (0, 1))
    evaluator = ReferenceEvaluator(plan_of(name))
    assert len(evaluator.run([SourceRecord("t", 0, 0, 0, b"k", first)])) == 1

    def away(_: int) -> Schema:
        raise RegistryAwayError("the schema registry does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(registry, "by_id", away)
        known = evaluator.run([SourceRecord("t", 0, 1, 0, b"k", first)])
        with pytest.raises(QueryError, match="cannot find the schema of id 2"):
            evaluator.run([SourceRecord("t", 0, 2, 0, b"k", second)])
    back = evaluator.run([SourceRecord("t", 0, 2, 0, b"k", second)])

    assert (len(known), len(back)) == (1, 1)
    assert evaluator.dropped == 0


@FORMATS
def test_a_header_names_the_schema_of_bytes_without_a_frame(
    registry: InProcessRegistry, name: str
) -> None:
    data = written(registry, name, VERSIONS[1], ROWS[1])
    guid = str(registry.rules.version("t-value", "1").guid)
    payload, indexes = unframed(data).payload, b""
    if name == "PROTOBUF":
        indexes, payload = payload[:1], payload[1:]
    header = header_of(guid) + indexes
    plan = plan_of(name)

    found, dropped = run(plan, payload, None, headers=((VALUE_HEADER, header), ("a", b"1")))
    in_front, _ = run(plan, header + payload)

    assert [record.value for record in found] == [b'{"A":2,"B":"x"}', None]
    assert [record.value for record in in_front] == [b'{"A":2,"B":"x"}']
    assert dropped == 0


def test_a_result_with_frames_does_not_inherit_the_header(registry: InProcessRegistry) -> None:
    data = written(registry, "AVRO", VERSIONS[1], ROWS[1])
    guid = str(registry.rules.version("t-value", "1").guid)
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    (plan,) = [
        done.query.planned.plan
        for done in session.run(
            "CREATE STREAM s (k STRING KEY) WITH (kafka_topic='t', value_format='AVRO');"
            "CREATE STREAM out AS SELECT k, a FROM s;"
        )
        if done.query
    ]
    headers: Headers = (
        (VALUE_HEADER, header_of(guid)),
        (KEY_HEADER, b"kept: the key is not in Avro"),
    )

    (out,), dropped = run(plan, unframed(data).payload, headers=headers)

    assert out.headers == headers[1:]
    assert out.value is not None
    assert out.value[0] == 0
    assert dropped == 0
