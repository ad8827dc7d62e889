"""Keys with windows, read from the bytes that Kafka Streams writes, in each format of what is before them."""

import json
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, calendar, col, session, tumbling, unlimited
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from duolog.plan.windows import Windows
from duolog.serde.row import Row
from duolog.serde.serde import key_serde
from unit.kernel.driver import java_session, kernel_package

pytestmark = pytest.mark.spark


def read_back(
    spark: SparkSession, key: str, windows: Windows, data: Sequence[bytes | None]
) -> tuple[list[Row | None], int]:
    """Return the keys that the kernel reads, as columns of values, and how many it cannot read."""
    topology = Topology("sources")
    stream = topology.stream("in", key=key, value="n INT", windowed=windows)
    names = [column.name for column in stream.schema.key]
    stream.map_values(**{f"_{name}": col(name) for name in names}).to("out")
    spec = lower(find_levels(topology.build()), "test", cache_bytes_max=0)
    kernel = kernel_package(spark)
    driver = kernel.Driver(java_session(spark), json.dumps(spec))
    for offset, part in enumerate(data):
        driver.add("in", 0, offset, 0, None if part is None else bytearray(part), b"{}", [])
    serde = key_serde(
        "KAFKA" if "," not in key else "JSON", stream.schema.key, stream.schema.window
    )
    found = []
    for out in driver.run():
        written = None if out.key() is None else bytes(out.key())
        row = tuple(json.loads(bytes(out.value())).values())
        assert written is None or serde.deserialize(written) == row
        found.append(None if written is None else row)
    return found, driver.corruptRecords()


def bound(at: int) -> bytes:
    return at.to_bytes(8, "big", signed=True)


def test_the_end_of_a_window_follows_from_its_start(spark: SparkSession) -> None:
    data = [b"ann" + bound(1000), None, bound(2000), b"ann"]

    found, corrupt = read_back(spark, "user STRING", tumbling("1 s"), data)

    assert found == [("ann", 1000, 2000), None, ("", 2000, 3000)]
    assert corrupt == 1


def test_a_window_without_an_end_ends_with_the_last_timestamp(spark: SparkSession) -> None:
    found, _ = read_back(spark, "user BIGINT", unlimited(), [bound(7) + bound(5)])

    assert found == [(7, 5, 2**63 - 1)]


@pytest.mark.parametrize("windows", [session("1 s"), calendar("day", time_zone="UTC")])
def test_where_windows_differ_in_size_both_bounds_are_there(
    spark: SparkSession, windows: Windows
) -> None:
    data = [
        b'{"a":1,"b":"x"}' + bound(9) + bound(-5),
        b'{"a":null,"b":null}' + bound(9) + bound(5),
        b"{}" + bound(9),
        b"oops" + bound(9) + bound(5),
    ]

    found, corrupt = read_back(spark, "a INT, b STRING", windows, data)

    assert found == [(1, "x", -5, 9), None]
    assert corrupt == 2
