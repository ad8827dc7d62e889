"""Tests of record metadata and row expiry find each planted bug."""

from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given
from conformance.streams.planted import planted_driver
from conformance.streams.test_record_metadata import Define, headers_written
from duolog import Topology
from topologies import KEY, VALUE, ms

pytestmark = pytest.mark.spark

HEADERS: Final = (("h", b"first"), ("other", b"o"), ("h", b"last"))
# What was made first was updated since, when its place in a bucket of time has expired.
TIMES: Final = (0, 7, 12, 13)
RECORDS: Final = tuple(Given("s1", ("x",), ("y", 1), time, 0, HEADERS) for time in TIMES)


def rows_that_go(topology: Topology) -> None:
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.group_by_key().materialized("kept", ttl=ms(8)).count().to("out")


class Plant(NamedTuple):
    """A line of a kernel class, and the bug that replaces it."""

    bug: str
    java_class: str
    line: str
    planted: str
    found_by: Define


PLANTS: Final = (
    Plant(
        "headers are read of the record that came and not of the one at hand",
        "NodeContext",
        "    current = change;\n",
        "    current = before == null ? change : before;\n",
        headers_written,
    ),
    Plant(
        "a written header is appended to those of its name",
        "HeadersNode",
        "    this.removed.addAll(written);\n",
        "",
        headers_written,
    ),
    Plant(
        "headers that are all taken away stay",
        "HeadersNode",
        "    if (!clears) {",
        "    if (true) {",
        headers_written,
    ),
    Plant(
        "a row that was updated goes when it would have gone before",
        "ExpiringRows",
        "    if (row != null && isExpiredAt(StoredRow.ts(row))) {",
        "    if (row != null) {",
        rows_that_go,
    ),
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.bug)
def test_a_planted_bug_is_found(spark: SparkSession, tmp_path: Path, plant: Plant) -> None:
    wrong = planted_driver(spark, plant.java_class, plant.line, plant.planted, tmp_path)
    topology = Topology("planted")
    plant.found_by(topology)
    plan, batches = topology.build(), [[record] for record in RECORDS]

    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0, open_driver=wrong)

    assert ours != run_in_reference(plan, batches, cache_bytes_max=0, tasks=1)
