"""Samples of groups that clients look at; no thread samples in these tests but one."""

from collections.abc import Collection, Mapping
from itertools import pairwise

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.consumer_groups import watch as watching
from duolog.runtime.consumer_groups.groups import Listed
from duolog.runtime.consumer_groups.lags import GroupLag, PartitionLag
from duolog.runtime.consumer_groups.watch import GroupWatch
from duolog.testing.clock import FakeClock
from unit.runtime.consumer_groups.cluster import listed
from waiting import wait_until

A = ("orders", 0)


class Measured:
    """Measures lags that a test sets; it counts."""

    def __init__(self) -> None:
        self.records = 0
        self.asked: list[list[str]] = []
        self.gone: set[str] = set()
        self.fails = False

    def __call__(self, groups: Collection[Listed], now_ms: int) -> Mapping[str, GroupLag]:
        self.asked.append([group.name for group in groups])
        if self.fails:
            raise KafkaError("away", code=-195)
        lag = PartitionLag(100, 100 + self.records, self.records * 10)
        return {
            group.name: GroupLag(now_ms, {A: lag})
            for group in groups
            if group.name not in self.gone
        }


@pytest.fixture
def measured() -> Measured:
    return Measured()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def watch(measured: Measured, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> GroupWatch:
    monkeypatch.setattr(GroupWatch, "_sample", lambda _: None)
    return GroupWatch(measured, clock)


def test_clients_that_look_at_once_share_a_measurement(
    watch: GroupWatch, measured: Measured, clock: FakeClock
) -> None:
    measured.records = 3
    watch.look([listed("g")])
    measured.records = 5

    assert watch.look([listed("g")])["g"].records == 3
    clock.advance(3)
    assert watch.look([listed("g")])["g"].records == 5
    assert measured.asked == [["g"], ["g"]]


def test_a_growing_lag_has_a_rising_trend(
    watch: GroupWatch, measured: Measured, clock: FakeClock
) -> None:
    for _ in range(12):
        measured.records += 100
        watch.look([listed("g")])
        clock.advance(5)

    found = watch.history("g")
    assert (found.records_trend, found.ms_trend) == ("rising", "rising")
    assert [value for _, value in found.records] == [100 * n for n in range(1, 13)]
    assert found.ms[-1][1] == 12_000


def test_few_samples_have_no_trend(watch: GroupWatch, clock: FakeClock) -> None:
    watch.look([listed("g")])
    clock.advance(5)
    watch.look([listed("g")])

    assert watch.history("g").records_trend is None
    assert watch.history("unknown").records == []


def test_samples_do_not_come_closer_than_four_seconds_and_are_bounded(
    watch: GroupWatch, clock: FakeClock
) -> None:
    for _ in range(2_000):
        watch.look([listed("g")])
        clock.advance(1)

    times = [at for at, _ in watch.history("g").records]
    assert len(times) <= 120
    assert min(b - a for a, b in pairwise(times[:-1])) >= 4_000


def test_partitions_are_sampled_only_when_a_client_looks_at_them(
    watch: GroupWatch, clock: FakeClock
) -> None:
    watch.look([listed("g")])
    assert watch.partition_history("g") == {}

    watch.look([listed("g")], partitions=True)
    clock.advance(5)
    watch.look([listed("g")])

    assert len(watch.partition_history("g")[A]) == 2


def test_the_group_looked_at_least_lately_is_forgotten_first(
    watch: GroupWatch, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_GROUPS_MAX", 2)
    for name in ("a", "b", "a", "c"):
        watch.look([listed(name)])
        clock.advance(3)

    assert [bool(watch.history(name).records) for name in "abc"] == [True, False, True]


def test_more_groups_than_are_kept_all_have_a_lag(
    watch: GroupWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_GROUPS_MAX", 2)

    assert watch.look([listed(name) for name in "abcd"]).keys() == set("abcd")


def test_a_group_that_has_gone_is_forgotten(
    watch: GroupWatch, measured: Measured, clock: FakeClock
) -> None:
    watch.look([listed("g")])
    measured.gone.add("g")
    clock.advance(3)

    assert watch.look([listed("g")]) == {}
    assert watch.history("g").records == []


def test_a_failed_sample_keeps_those_before(watch: GroupWatch, measured: Measured) -> None:
    watch.look([listed("g")])
    measured.fails = True

    watch.sample([listed("g")])

    assert len(watch.history("g").records) == 1


def test_the_thread_samples_until_no_client_has_looked_for_half_an_hour(
    measured: Measured, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_OFTEN_S", 0.01)
    monkeypatch.setattr(watching, "_SELDOM_S", 0.01)
    watch = GroupWatch(measured, clock)
    watch.look([listed("g")])
    wait_until(lambda: len(measured.asked) > 2, "samples")

    clock.advance(31 * 60)

    wait_until(lambda: watch._thread is None, "the end")  # noqa: SLF001 - the end of the thread
    assert watch.history("g").records == []
    watch.close()
