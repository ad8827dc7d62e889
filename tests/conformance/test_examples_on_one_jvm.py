"""Run `examples/` in the process of the test run, which saves the start of a JVM for each."""

import runpy

import pytest
from pyspark.sql import SparkSession

from conformance.test_examples import EXAMPLES, ON_ONE_JVM


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_ONE_JVM)
def test_example_succeeds_and_prints_what_to_notice(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert spark is not None, "the engine finds the session of this run"

    runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    assert "Note: " in capsys.readouterr().out
