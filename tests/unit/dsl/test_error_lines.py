"""Errors name the line of the user's own file."""

import subprocess
import sys
from pathlib import Path

import pytest

from duolog import Topology, col, count
from duolog.core.errors import StatementError

HERE = Path(__file__).name


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def assert_at(error: StatementError, mark: str) -> None:
    assert error.place.endswith(f"{HERE}:{line_of(mark)}"), error.place
    assert str(error).startswith(f"{error.place}: {error.message}")


def test_an_unknown_column_is_reported_with_the_line_of_the_operator() -> None:
    flights = Topology("t").stream("flights", key="carrier STRING", value="delay BIGINT")
    condition = col("dealy") > 0

    with pytest.raises(StatementError) as caught:
        flights.filter(condition)  # an operator

    assert caught.value.message == 'unknown column "dealy"'
    assert_at(caught.value, "an operator")


def test_in_a_chain_over_several_lines_the_line_is_that_of_the_step() -> None:
    flights = Topology("t").stream("flights", key="carrier STRING", value="delay BIGINT")

    with pytest.raises(StatementError) as caught:
        (
            flights.filter(col("delay") > 0)
            .group_by_key()
            .aggregate(col("dealy"))  # a step of a chain
            .to("out")
        )

    assert_at(caught.value, "a step of a chain")


def test_invalid_columns_and_python_conditions_name_their_line() -> None:
    with pytest.raises(StatementError) as schema:
        Topology("t").stream("s", value="a STRNG")  # a schema
    with pytest.raises(StatementError) as condition:
        bool(col("a"))  # a condition

    assert_at(schema.value, "a schema")
    assert_at(condition.value, "a condition")


def test_two_stores_with_one_name_are_reported_with_both_lines() -> None:
    topology = Topology("t")
    flights = topology.stream("flights", key="carrier STRING", value="delay BIGINT")
    grouped = flights.group_by_key().materialized("totals")
    grouped.count().to("one")  # the first store
    grouped.aggregate(flights=count()).to("two")  # the second store

    with pytest.raises(StatementError, match='two stores have the name "totals"') as caught:
        topology.build()

    assert_at(caught.value, "the second store")
    assert f"{HERE}:{line_of('the first store')}." in caught.value.detail


def test_a_topology_without_results_is_reported_with_its_first_line() -> None:
    topology = Topology("t")  # a topology

    with pytest.raises(StatementError, match="writes nothing") as caught:
        topology.build()

    assert_at(caught.value, "a topology")


def test_an_error_outside_of_the_dsl_has_no_place() -> None:
    error = StatementError("no topology")

    assert not error.place
    assert str(error) == "no topology"


def test_files_are_named_relative_to_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        'from duolog import Topology, col\ns = Topology("t").stream("s", value="a INT")\n\n'
        's.filter(col("b") == 1)\n'
    )

    ended = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert 'UnknownName: app.py:4: unknown column "b"' in ended.stderr
