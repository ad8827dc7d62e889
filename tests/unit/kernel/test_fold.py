import pytest
from pyspark.sql import SparkSession

from unit.kernel.conftest import OpenDriver
from unit.kernel.driver import In, KernelDriver, Out
from unit.kernel.specs import flights_spec, regroup_spec

pytestmark = pytest.mark.spark


def person(key: str, value: str | None, *, ts: int = 1) -> In:
    return In("persons", key, value, ts=ts)


def city(key: str, value: str, *, ts: int = 1) -> Out:
    return Out("by_city", key, value, ts)


def test_nulls_are_counted_as_records_and_ignored_by_the_sum(open_driver: OpenDriver) -> None:
    driver = open_driver(flights_spec())
    driver.pipe(In("airlines", "AA", '{"name":"American"}'))

    totals = [
        out.value
        for delay in ("null", "5", "null", "-7")
        for out in driver.pipe(In("flights", "f", f'{{"carrier":"AA","delay":{delay}}}'))
        if out.topic == "by_airline"
    ]

    assert totals == [
        '{"flights":1}',
        '{"flights":2,"delay":5}',
        '{"flights":3,"delay":5}',
        '{"flights":4,"delay":-2}',
    ]


def test_a_results_timestamp_never_goes_back(open_driver: OpenDriver) -> None:
    driver = open_driver(regroup_spec())

    first = driver.pipe(person("a", '{"city":"Rome","age":30}', ts=9))
    second = driver.pipe(person("b", '{"city":"Rome","age":40}', ts=4))

    assert [out.ts for out in first + second] == [9, 9]


def test_a_row_that_moves_leaves_its_old_group_first(open_driver: OpenDriver) -> None:
    driver = open_driver(regroup_spec())
    driver.pipe(person("a", '{"city":"Rome","age":30}'))

    moved = driver.pipe(person("a", '{"city":"Oslo","age":31}'))

    assert sorted(moved) == [
        city("Oslo", '{"persons":1,"age":31}'),
        city("Rome", '{"persons":0,"age":0}'),
    ]


def test_a_row_is_taken_back_with_the_timestamp_that_it_had(open_driver: OpenDriver) -> None:
    """A sum of timestamps ended at -19 instead of 20."""
    spec = regroup_spec()
    spec["nodes"]["4"] |= {"add": ["a0 + ts", "a1"], "subtract": ["a0 - ts", "a1"]}
    driver = open_driver(spec)

    first = driver.pipe(person("a", '{"city":"Rome","age":30}', ts=1))
    second = driver.pipe(person("a", '{"city":"Rome","age":31}', ts=20))

    assert [out.value for out in first + second] == ['{"persons":1}', '{"persons":20}']


def test_a_row_that_stays_in_its_group_changes_it_once(open_driver: OpenDriver) -> None:
    """KIP-904: subtracting and adding are one update where the group is the same."""
    driver = open_driver(regroup_spec())
    driver.pipe(person("a", '{"city":"Rome","age":30}'))

    changed = driver.pipe(person("a", '{"city":"Rome","age":33}'))

    assert changed == [city("Rome", '{"persons":1,"age":33}')]


def test_the_count_of_a_group_that_became_empty_stays_at_0(open_driver: OpenDriver) -> None:
    driver = open_driver(regroup_spec())
    driver.pipe(person("a", '{"city":"Rome","age":30}'))

    deleted = driver.pipe(person("a", None))
    again = driver.pipe(person("a", None))

    assert deleted == [city("Rome", '{"persons":0,"age":0}')]
    assert again == []


def test_a_row_that_a_filter_no_longer_lets_through_leaves_its_group(
    open_driver: OpenDriver,
) -> None:
    driver = open_driver(regroup_spec(predicate="v1 >= 18"))

    outputs = [
        driver.pipe(person("a", f'{{"city":"Rome","age":{age}}}')) for age in (17, 18, 19, 5, 6)
    ]

    assert outputs == [
        [],
        [city("Rome", '{"persons":1,"age":18}')],
        [city("Rome", '{"persons":1,"age":19}')],
        [city("Rome", '{"persons":0,"age":0}')],
        [],
    ]


def test_with_a_record_cache_a_micro_batch_emits_the_last_update_of_each_key(
    spark: SparkSession,
) -> None:
    driver = KernelDriver(spark, regroup_spec(cache_bytes_max=1 << 20, tasks=1))

    outputs = driver.batch(
        [
            person("a", '{"city":"Rome","age":1}', ts=1)._replace(offset=0),
            person("b", '{"city":"Oslo","age":2}', ts=2)._replace(offset=1),
            person("c", '{"city":"Rome","age":3}', ts=3)._replace(offset=2),
        ]
    )

    assert outputs == [
        city("Oslo", '{"persons":1,"age":2}', ts=2),
        city("Rome", '{"persons":2,"age":4}', ts=3),
    ]


def test_a_full_record_cache_emits_its_updates_early(spark: SparkSession) -> None:
    driver = KernelDriver(spark, regroup_spec(cache_bytes_max=1, tasks=1))

    outputs = driver.batch(
        person("a", f'{{"city":"Rome","age":{age}}}')._replace(offset=age) for age in range(3)
    )

    assert [out.value for out in outputs] == [f'{{"persons":1,"age":{age}}}' for age in range(3)]


def test_in_real_time_every_update_is_emitted(spark: SparkSession) -> None:
    driver = KernelDriver(spark, regroup_spec(cache_bytes_max=1 << 20, real_time=True))

    outputs = driver.batch(person("a", f'{{"city":"Rome","age":{age}}}') for age in range(3))

    assert [out.value for out in outputs] == [f'{{"persons":1,"age":{age}}}' for age in range(3)]
