"""The README's demo in SQL makes the tables that its topology makes."""

import json
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION
from duolog.cli.demo.topology import flights_topology
from duolog.cli.sql.layout import formatted
from duolog.cli.sql.lint import findings_of
from duolog.ksql.session import SqlSession
from duolog.testing import TopologyDriver
from duolog.testing.sql.mesh import Mesh

FILE: Final = Path(__file__).parents[4] / "examples/flights.sql"
RESULTS: Final = (BY_AIRLINE, BY_DESTINATION)
COLUMNS: Final = ("name", "flights", "delay_count", "delay_sum", "delay_mean", "delay_max")
TABLES: Final[list["Record"]] = [
    ("airlines", "AA", {"name": "American Airlines Inc."}),
    ("airlines", "UA", {"name": "United Air Lines Inc."}),
    ("airports", "MIA", {"name": "Miami Intl"}),
    ("airports", "LGA", {"name": "La Guardia"}),
]
FLIGHTS: Final = [
    ("AA", "MIA", 7),
    ("UA", "MIA", -4),
    ("AA", "SJU", 30),  # Not among the airports.
    ("UA", "MIA", None),  # Cancelled.
    ("AA", "MIA", 11),
    ("UA", "LGA", None),  # The only one to there.
]
Record = tuple[str, str, dict[str, object]]


def records() -> list[Record]:
    flights: list[Record] = [
        ("flights", carrier, {"flight": n, "dest": dest, "dep_delay": delay, "produced_at": n})
        for n, (carrier, dest, delay) in enumerate(FLIGHTS)
    ]
    return [*TABLES, *flights]


def of_topology() -> dict[str, dict[str, dict[str, object]]]:
    driver = TopologyDriver(flights_topology())
    for time, (topic, key, value) in enumerate(records()):
        driver.input_topic(topic).pipe_bytes(key.encode(), json.dumps(value).encode(), time)
    tables = {topic: driver.output_topic(topic).read_table() for topic in RESULTS}
    return {
        topic: {key: {name: row[name] for name in COLUMNS} for key, row in rows.items()}
        for topic, rows in tables.items()
    }


def of_sql() -> dict[str, dict[str, dict[str, object]]]:
    mesh = Mesh()
    session = SqlSession()
    for done in session.run(FILE.read_text()):
        if done.query is not None:
            mesh.begin(done.query)
    for time, (topic, key, value) in enumerate(records()):
        mesh.write(topic, key.encode(), json.dumps(value).encode(), time)
    found: dict[str, dict[str, dict[str, object]]] = {}
    for topic in RESULTS:
        found[topic] = {}
        while (record := mesh.take(topic)) is not None:
            assert record.key is not None
            assert record.value is not None
            row = {name.lower(): value for name, value in json.loads(record.value).items()}
            found[topic][record.key.decode()] = row
    mesh.close()
    return found


@pytest.mark.spark
def test_the_same_rows_come_out(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    assert of_sql() == of_topology()


def test_the_file_is_laid_out_and_nothing_is_found_in_it() -> None:
    text = FILE.read_text()

    assert formatted(text) == text
    assert findings_of(text) == []
