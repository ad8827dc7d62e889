import pytest

from unit.kernel.conftest import OpenDriver
from unit.kernel.driver import In, KernelDriver, Out
from unit.kernel.specs import flights_spec

pytestmark = pytest.mark.spark

AMERICAN = In("airlines", "AA", '{"name":"American"}', ts=1)


def flight(value: str | None, *, ts: int = 5) -> In:
    return In("flights", "f", value, ts=ts)


def joined(driver: KernelDriver, record: In) -> list[Out]:
    return [out for out in driver.pipe(record) if out.topic == "joined"]


def test_a_stream_record_meets_the_row_that_the_table_holds_now(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec())
    record = flight('{"carrier":"AA","delay":5}')

    before = joined(driver, record)
    driver.pipe(AMERICAN)
    after = joined(driver, record)
    driver.pipe(AMERICAN._replace(value='{"name":"AMERICAN"}'))
    updated = joined(driver, record)

    assert before == []
    assert after == [Out("joined", "AA", '{"name":"American","delay":5}', 5)]
    assert updated == [Out("joined", "AA", '{"name":"AMERICAN","delay":5}', 5)]


def test_a_null_value_deletes_a_row_of_the_table(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec())
    driver.pipe(AMERICAN)

    driver.pipe(AMERICAN._replace(value=None))

    assert joined(driver, flight('{"carrier":"AA","delay":5}')) == []


def test_a_null_key_is_ignored_by_a_table(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec(left=True))

    outputs = driver.pipe(AMERICAN._replace(key=None))

    assert outputs == []


def test_a_left_join_keeps_a_record_without_a_row(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec(left=True))

    outputs = driver.pipe(flight('{"carrier":"BB","delay":5}'))

    # The airline's name, by which the count is grouped, is null: the record is not counted.
    assert outputs == [Out("joined", "BB", '{"delay":5}', 5)]


def test_the_timestamp_of_a_join_is_the_stream_records(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec())
    driver.pipe(AMERICAN._replace(ts=100))

    outputs = joined(driver, flight('{"carrier":"AA","delay":5}', ts=7))

    assert [out.ts for out in outputs] == [7]


def test_a_null_value_of_the_stream_is_dropped(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec(left=True))

    assert driver.pipe(flight(None)) == []


@pytest.mark.parametrize("value", ["", "garbage", "[1]", '{"delay":5}', '{"carrier":"AA"'])
def test_a_record_that_cannot_be_read_is_dropped_and_counted(
    open_driver: OpenDriver, value: str
) -> None:
    driver = open_driver(flights_spec(left=True))

    outputs = driver.pipe(flight(value))

    assert outputs == []
    assert driver.corrupt_records == 1
