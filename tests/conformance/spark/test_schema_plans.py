"""Plans over topics in formats with schemas, on the kernel in memory."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import QueryError
from duolog.engine.settings import OF_SQL
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import Plan
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.serde.serde import key_serde, value_serde
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER, header_of
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SinkRecord, SourceRecord

pytestmark = pytest.mark.spark

ADDRESS = "mock://schema-plans"
FORMATS = ["AVRO", "JSON_SR", "PROTOBUF"]


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def plan_of(
    value_format: str, out: str = "", key_format: str = "AVRO", address: str = ADDRESS
) -> Plan:
    """Return the plan of a query from topic `t` to topic OUT."""
    session = SqlSession(given={"ksql.schema.registry.url": address})
    formats = f"value_format='{value_format}', key_format='{key_format}'"
    source = "CREATE STREAM s (k INT KEY, a INT, b STRUCT<c DECIMAL(4, 2)>)"
    query = "AS SELECT k, b, a FROM s;"
    text = f"{source} WITH (kafka_topic='t', {formats}); CREATE STREAM out {out} {query}"
    (plan,) = [done.query.planned.plan for done in session.run(text) if done.query]
    return plan


def run(plan: Plan, *records: SourceRecord) -> tuple[list[SinkRecord], int]:
    """Return what a plan writes, and the number of records that could not be read."""
    evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, errors=OF_SQL)
    try:
        return evaluator.run(records), evaluator.dropped
    finally:
        evaluator.close()


@pytest.mark.parametrize("name", [*FORMATS, "PROTOBUF_NOSR"])
@pytest.mark.usefixtures("registry")
def test_records_are_read_and_written(name: str) -> None:
    plan = plan_of(name, key_format=name)
    (source,), (sink,) = plan.sources, plan.sinks
    value = value_serde(name, source.schema.value, source.value_format.options)
    key = key_serde(name, source.schema.key, options=source.key_format.options)

    written, dropped = run(
        plan,
        SourceRecord("t", 0, 0, 0, key.serialize((5,)), value.serialize((1, {"C": None}))),
        SourceRecord("t", 0, 1, 0, None, None),
    )

    read = value_serde(name, sink.schema.value, sink.value_format.options)
    read_key = key_serde(name, sink.schema.key, options=sink.key_format.options)
    assert dropped == 0
    assert [read_key.deserialize(record.key) for record in written] == [(5,), None]
    assert [read.deserialize(record.value) for record in written] == [({"C": None}, 1), None]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.usefixtures("registry")
def test_a_poisoned_record_harms_no_other(name: str) -> None:
    plan = plan_of(name, key_format=name)
    (source,) = plan.sources
    value = value_serde(name, source.schema.value, source.value_format.options)
    good = value.serialize((1, None))
    assert good is not None
    poison = [b"", b"{}", good[:-1], b"\0\0\0\x7f\x01" + good[5:], b"\1" + good[1:]]
    if name == "JSON_SR":  # whose bytes are read without their schema
        poison.pop(3)

    written, dropped = run(
        plan, *(SourceRecord("t", 0, at, 0, None, one) for at, one in enumerate([*poison, good]))
    )

    assert (len(written), dropped) == (1, len(poison))


def test_a_record_is_read_with_its_own_schema(registry: InProcessRegistry) -> None:
    plan = plan_of("AVRO")
    (sink,) = plan.sinks
    fields = '{"name":"extra","type":"string"},{"name":"a","type":["null","int"]}'
    older = f'{{"type":"record","name":"R","fields":[{fields}]}}'
    number = registry.register("older", SchemaText(Language.AVRO, older))

    written, _ = run(
        plan, SourceRecord("t", 0, 0, 0, None, b"\0" + number.to_bytes(4, "big") + b"\2x\2\x0e")
    )

    read = value_serde("AVRO", sink.schema.value, sink.value_format.options)
    assert [read.deserialize(record.value) for record in written] == [(None, 7)]


@pytest.mark.parametrize("name", FORMATS)
def test_a_header_names_the_schema_in_place_of_an_id(
    registry: InProcessRegistry, name: str
) -> None:
    plan = plan_of(name, key_format=name)
    (source,), (sink,) = plan.sources, plan.sinks
    value = value_serde(name, source.schema.value, source.value_format.options).serialize((1, None))
    key = key_serde(name, source.schema.key, options=source.key_format.options).serialize((5,))
    assert key is not None
    assert value is not None
    headers = tuple(
        (header, header_of(str(registry.rules.schema_by_id(int.from_bytes(data[1:5])).guid)))
        for header, data in ((KEY_HEADER, key), (VALUE_HEADER, value))
    )
    unknown = (VALUE_HEADER, header_of("00000000-0000-0000-0000-000000000000"))

    written, dropped = run(
        plan,
        SourceRecord("t", 0, 0, 0, key[5:], value[5:], (*headers, ("trace", b"1"))),
        SourceRecord("t", 0, 1, 0, None, value[5:], (unknown,)),
    )

    read = value_serde(name, sink.schema.value, sink.value_format.options)
    read_key = key_serde(name, sink.schema.key, options=sink.key_format.options)
    first = written[0]
    assert (read_key.deserialize(first.key), read.deserialize(first.value)) == ((5,), (None, 1))
    assert first.headers == (("trace", b"1"),)  # the results' own bytes name their schemas
    assert dropped == (name != "JSON_SR")  # JSON_SR is read without its schema


def test_a_row_that_does_not_fit_its_schema_fails_to_be_written(
    registry: InProcessRegistry,
) -> None:
    fields = (
        '{"name":"B","type":{"type":"record","name":"BR","fields":[{"name":"C","type":["null",'
        '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}]}]}},'
        '{"name":"A","type":"int"}'
    )
    schema = f'{{"type":"record","name":"R","fields":[{fields}]}}'
    number = registry.register("other", SchemaText(Language.AVRO, schema))
    plan = plan_of("JSON", f"WITH (value_format='AVRO', value_schema_id={number})")
    evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0)

    try:
        with pytest.raises(QueryError, match='does not allow null in "B"'):
            evaluator.run([SourceRecord("t", 0, 0, 0, None, b'{"A":1,"B":null}')])
        assert len(evaluator.run([SourceRecord("t", 0, 0, 0, None, b'{"A":1,"B":{}}')])) == 1
    finally:
        evaluator.close()
