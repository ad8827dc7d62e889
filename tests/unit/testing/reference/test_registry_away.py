"""A registry that is away, on the reference implementation."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import QueryError
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import Plan
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Schema
from duolog.schemas.source import RegistryAwayError, provide, withdraw
from duolog.serde.serde import value_serde
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

ADDRESS = "mock://test-registry-away"


class Away(InProcessRegistry):
    """A registry that does not answer."""

    def by_id(self, schema_id: int) -> Schema:
        raise RegistryAwayError("no schema registry answers", hint="Start it.")


@pytest.fixture
def plan() -> Iterator[Plan]:
    provide(ADDRESS, InProcessRegistry())
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    text = (
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO');"
        "CREATE STREAM out AS SELECT a FROM s;"
    )
    (found,) = [done.query.planned.plan for done in session.run(text) if done.query]
    yield found
    withdraw(ADDRESS)


def test_a_registry_that_is_away_ends_the_run_and_drops_no_record(plan: Plan) -> None:
    (source,) = plan.sources
    data = value_serde("AVRO", source.schema.value, source.value_format.options).serialize((1,))
    provide(ADDRESS, Away())
    evaluator = ReferenceEvaluator(plan)

    with pytest.raises(QueryError, match="cannot find the schema of id 1"):
        evaluator.run([SourceRecord("t", 0, 0, 0, None, data)])

    assert evaluator.dropped == 0


def test_an_unknown_id_is_a_record_that_is_dropped(plan: Plan) -> None:
    evaluator = ReferenceEvaluator(plan)

    evaluator.run([SourceRecord("t", 0, 0, 0, None, b"\0\0\0\0\x63\2\2")])

    assert evaluator.dropped == 1
