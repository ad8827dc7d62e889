"""A plan whose registry is away, on the kernel in memory."""

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.spark.test_schema_plans import plan_of
from duolog.core.errors import QueryError
from duolog.engine.in_memory import shared_session
from duolog.engine.settings import OF_SQL
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.source import provide, withdraw
from duolog.serde.serde import value_serde
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord

pytestmark = pytest.mark.spark

ADDRESS = "mock://schema-away"
"""Of this file only: the JVM keeps the readers of other tests, which have their schemas."""


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


@pytest.mark.usefixtures("registry")
def test_a_registry_that_is_away_fails_the_query_and_costs_no_record() -> None:
    plan = plan_of("AVRO", address=ADDRESS)
    (source,) = plan.sources
    value = value_serde("AVRO", source.schema.value, source.value_format.options)
    evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, errors=OF_SQL)
    shared_session().kernel("SchemaRegistry").provide(ADDRESS, "http://127.0.0.1:1")
    system: Any = shared_session().jvm.java.lang.System
    system.setProperty("duolog.schema.registry.patience.ms", "0")

    try:
        with pytest.raises(QueryError, match="the schema registry does not answer"):
            evaluator.run([SourceRecord("t", 0, 0, 0, None, value.serialize((1, None)))])
        assert evaluator.dropped == 0
    finally:
        system.clearProperty("duolog.schema.registry.patience.ms")
        evaluator.close()
