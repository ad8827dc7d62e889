"""Run ksqlDB's query tests in the kernel's driver: exactly the listed cases fail.

The default run has all expected errors and a fixed sample of the others; `scripts/test --deep` has
all. The page's list is written by `python -m duolog.testing.qtt qtt.jsonl rqtt.jsonl --page
docs/reference/ksqldb-compatibility.md`.
"""

from collections.abc import Iterable
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.ksql.query_cases import (
    ABSENT,
    PAGE,
    all_cases,
    query_cases,
    server_cases,
)
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.listed import read_listed
from duolog.testing.qtt.runner import run_case
from duolog.testing.qtt.sampling import sample

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT)),
]

SAMPLE: Final = 75
SERVER_SAMPLE: Final = 40
PARTS: Final = 8


def surprises(cases: Iterable[Case]) -> list[str]:
    """Run cases; return a line for each listed case that passes and each other that fails."""
    listed = read_listed(PAGE)
    found = []
    for case in cases:
        outcome = run_case(case)
        if (outcome.status == "pass") == (case.title in listed):
            found.append(f"{case.title}: {outcome.status} {outcome.reason}")
    return found


def test_every_expected_error_is_raised_unless_listed(spark: SparkSession) -> None:
    refused = [case for case in all_cases() if case.expected_error is not None]

    assert surprises(refused) == []


def test_sample_of_cases_passes_unless_listed(spark: SparkSession) -> None:
    running = [case for case in query_cases() if case.expected_error is None]

    assert surprises(sample(running, SAMPLE)) == []


def test_sample_of_server_cases_passes_unless_listed(
    spark: SparkSession,
) -> None:
    running = [case for case in server_cases() if case.expected_error is None]

    assert surprises(sample(running, SERVER_SAMPLE)) == []


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_all_cases_pass_unless_listed(spark: SparkSession, part: int) -> None:
    assert surprises(all_cases()[part::PARTS]) == []


def test_each_listed_case_exists() -> None:
    titles = {case.title for case in all_cases()}

    assert sorted(read_listed(PAGE).keys() - titles) == []
