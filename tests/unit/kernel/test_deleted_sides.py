"""A join of tables deletes its row with the last side, also if that side is computed."""

import pytest
from pyspark.sql import SparkSession

from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given
from duolog import Topology, col
from topologies import KEY, VALUE

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["left_join", "outer_join"])
def test_the_only_side_is_deleted(spark: SparkSession, kind: str) -> None:
    topology = Topology("deleted")
    computed = topology.table("t1", key=KEY, value=VALUE).map_values(m=col("n") + 1)
    joined = getattr(computed, kind)(topology.table("t2", key=KEY, value=VALUE), prefix="r_")
    joined.to("joined")
    plan = topology.build()
    batches = [[Given("t1", ("k",), row, time)] for time, row in enumerate([("x", 1), None])]

    found = run_in_memory(spark, plan, batches, cache_bytes_max=0)

    assert [out.value is None for batch in found for out in batch["joined"]] == [False, True]
    assert found == run_in_reference(plan, batches, cache_bytes_max=0, tasks=1)
