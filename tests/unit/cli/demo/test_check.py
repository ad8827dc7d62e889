import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from duolog.cli.demo.check import differences
from duolog.cli.demo.dataset import Dataset
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION

Tables = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return Dataset(tmp_path_factory.mktemp("dataset"))


def counted_by_hand(dataset: Dataset, events: int, years: int = 1) -> Tables:
    """Count both tables flight by flight in Python: what a right live table holds."""
    names = {
        BY_AIRLINE: {key: json.loads(row)["name"] for key, row in dataset.table("airlines")},
        BY_DESTINATION: {key: json.loads(row)["name"] for key, row in dataset.table("airports")},
    }
    tables: Tables = {BY_AIRLINE: {}, BY_DESTINATION: {}}
    for flight in islice(dataset.flights(years), events):
        fields = json.loads(flight.json_start + "}")
        for topic, key in ((BY_AIRLINE, flight.carrier), (BY_DESTINATION, fields["dest"])):
            empty = {"flights": 0, "delay_count": 0, "delay_sum": None, "delay_max": None}
            row = tables[topic].setdefault(key, {"name": names[topic].get(key), **empty})
            row["flights"] += 1
            if (delay := fields["dep_delay"]) is not None:
                row["delay_count"] += 1
                row["delay_sum"] = (row["delay_sum"] or 0) + delay
                row["delay_max"] = max(delay, row["delay_max"] or delay)
            of = row["delay_count"]
            row["delay_mean"] = row["delay_sum"] / of if of else None
    return tables


@pytest.mark.parametrize(("events", "years"), [(1_000, 1), (400_000, 2)])
def test_right_tables_equal_the_batch(dataset: Dataset, events: int, years: int) -> None:
    tables = counted_by_hand(dataset, events, years)

    assert differences(tables, dataset, events) == []


def test_a_wrong_a_missing_and_a_surplus_row_are_found(dataset: Dataset) -> None:
    tables = counted_by_hand(dataset, 1_000)
    tables[BY_AIRLINE]["UA"]["delay_sum"] += 1
    del tables[BY_DESTINATION]["SJU"]
    tables[BY_DESTINATION]["XXX"] = dict(tables[BY_DESTINATION]["IAH"])

    found = differences(tables, dataset, 1_000)

    assert [(d.table, d.key) for d in found] == [
        (BY_AIRLINE, "UA"),
        (BY_DESTINATION, "SJU"),
        (BY_DESTINATION, "XXX"),
    ]
    assert found[1].live is None
    assert found[2].batch is None


def test_a_row_counted_for_one_flight_too_many_is_found(dataset: Dataset, tmp_path: Path) -> None:
    tables = counted_by_hand(dataset, 1_001)

    assert len(differences(tables, dataset, 1_000)) == 2
