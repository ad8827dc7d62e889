"""Compare the final tables and the streams of random SQL applications with DuckDB.

DuckDB reads the same records with other statements: the last row of each key is the table's row,
comparisons are never null, rows without a key are in no group. A failure prints the seed and the
statements; `scripts/test --deep` runs many seeds.
"""

import os
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.ksql.random_runs import application, report, run_in_parts, run_one_by_one

pytestmark = pytest.mark.spark

SEEDS: Final = range(3)
DEEP: Final = range(1000, 1000 + int(os.environ.get("DUOLOG_RANDOM_SQL", "300")))
PARTS: Final = 10


def surprises(seed: int) -> str:
    """Run an application and return its differences from DuckDB."""
    in_parts = seed % 2 == 0
    app = application(seed, queries=5, in_parts=in_parts)
    try:
        found = run_in_parts(app) if in_parts else run_one_by_one(app)
        return report(app, found) if found else ""
    finally:
        app.close()


def test_random_applications_equal_duckdb(spark: SparkSession) -> None:
    found = [wrong for seed in SEEDS if (wrong := surprises(seed))]

    assert found == []


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_many_random_applications_equal_duckdb(spark: SparkSession, part: int) -> None:
    found = [wrong for seed in DEEP[part::PARTS] if (wrong := surprises(seed))]

    assert found == []
