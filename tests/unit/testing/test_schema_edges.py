"""Plans over topics in Protobuf, run where only JSON is read."""

from collections.abc import Iterator

import pytest

from duolog.ksql.session import SqlSession
from duolog.plan.nodes import Plan
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.source import provide, withdraw
from duolog.serde.serde import value_serde
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord
from duolog.testing.schema_edges import SchemaEdges

ADDRESS = "mock://test-edges"


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def plan_of(value_format: str, out: str = "") -> Plan:
    """Return the plan of a query from topic `t` to topic OUT."""
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    text = (
        f"CREATE STREAM s (k INT KEY, a INT, b STRUCT<c DECIMAL(4, 2)>) WITH (kafka_topic='t', "
        f"value_format='{value_format}', key_format='PROTOBUF');"
        f"CREATE STREAM out {out} AS SELECT k, b, a FROM s;"
    )
    queries = [done.query for done in session.run(text) if done.query]
    return queries[0].planned.plan


def run(plan: Plan, *records: SourceRecord) -> list[SinkRecord]:
    """Run a plan on the reference implementation, between edges."""
    edges = SchemaEdges(plan)
    assert all(node.value_format.name == "JSON" for node in edges.plan.sinks)
    evaluator = ReferenceEvaluator(edges.plan)
    return edges.given(evaluator.run([edges.taken(record) for record in records]))


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
@pytest.mark.usefixtures("registry")
def test_records_in_a_format_with_schemas_go_through_a_plan_in_json(name: str) -> None:
    plan = plan_of(name)
    (source,) = plan.sources
    # The schema of a declared source is registered, so its serde can write.
    serde = value_serde(name, source.schema.value, source.value_format.options)
    data = serde.serialize((1, {"C": None}))

    written = run(plan, SourceRecord("t", 0, 0, 0, None, data))

    (sink,) = plan.sinks
    read = value_serde(name, sink.schema.value, sink.value_format.options)
    assert [read.deserialize(record.value) for record in written] == [({"C": None}, 1)]
    assert [record.key for record in written] == [None]


@pytest.mark.usefixtures("registry")
def test_a_record_that_cannot_be_read_stays_unreadable() -> None:
    edges = SchemaEdges(plan_of("PROTOBUF_NOSR"))

    taken = edges.taken(SourceRecord("t", 0, 0, 0, b"1", b'{"A":1}'))
    other = edges.taken(SourceRecord("u", 0, 0, 0, b"1", b'{"A":1}'))

    assert (taken.key, taken.value) == (b"\0001", b'\0{"A":1}')
    assert (other.key, other.value) == (b"1", b'{"A":1}')


def test_a_plan_without_schemas_is_not_copied() -> None:
    session = SqlSession()
    text = (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON');"
        "CREATE STREAM out AS SELECT * FROM s;"
    )
    (plan,) = [done.query.planned.plan for done in session.run(text) if done.query]

    assert SchemaEdges(plan).plan is plan
