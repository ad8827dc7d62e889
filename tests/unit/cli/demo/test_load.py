import threading
from collections.abc import Iterator
from itertools import islice

import pytest

import waiting
from duolog.cli.demo import load as load_module
from duolog.cli.demo.dataset import Dataset, Flight
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import DemoTopics
from duolog.cli.kafka.cluster import Cluster
from duolog.plan.partitioner import partition_of

# UA and B6 belong to partition 0, AA and DL to partition 1.
CARRIERS = ("UA", "AA", "UA", "B6", "DL", "UA", "AA", "DL")
FLIGHTS = [Flight(carrier, at, "{") for at, carrier in enumerate(CARRIERS)]
Written = list[tuple[str, int, int]]


class Sender:
    """Takes records instead of a broker."""

    def __init__(self, *args: object, **options: object) -> None:
        self.records: Written = []
        self.waiting = 0

    def send(self, topic: str, key: bytes, value: bytes, timestamp_ms: int, partition: int) -> None:
        if topic == "flights":
            self.records.append((key.decode(), timestamp_ms, partition))

    def finish(self) -> None:
        """Everything was taken."""

    abandon = finish


class Topics(DemoTopics):
    """Topics that hold given numbers of records."""

    def __init__(self, *flights: int) -> None:
        self.cluster = Cluster("", {})
        self._flights = list(flights)

    def record_counts(self, topic: str) -> list[int]:
        return self._flights if topic == "flights" else [10_000]


class Small(Dataset):
    """Eight flights."""

    def __init__(self) -> None:
        """Reads nothing."""

    def interrupt(self) -> None:
        """Nothing is read."""

    def flights(self, years: int = 1) -> Iterator[Flight]:
        yield from islice(FLIGHTS, None)

    def table(self, name: str) -> list[tuple[str, str]]:
        return []


def written(monkeypatch: pytest.MonkeyPatch, *there: int, total: int = 8) -> tuple[Written, int]:
    senders: list[Sender] = []

    def make(*args: object, **options: object) -> Sender:
        senders.append(Sender())
        return senders[-1]

    monkeypatch.setattr(load_module, "_Sender", make)
    load = FlightLoad(Topics(*there), Small(), total=total, years=1, rate=None)
    load.go()
    load.run()
    assert load.error is None
    return [record for sender in senders for record in sender.records], load.total


def started_load(
    monkeypatch: pytest.MonkeyPatch, *there: int, rate: float | None
) -> tuple[FlightLoad, list[Sender]]:
    """Return a load of forty flights, four of them live, and what it sends with."""
    senders: list[Sender] = []

    def make(*args: object, **options: object) -> Sender:
        senders.append(Sender())
        return senders[-1]

    monkeypatch.setattr(load_module, "_Sender", make)
    monkeypatch.setattr(load_module, "_AHEAD", 10)
    monkeypatch.setattr(Small, "flights", lambda *_: iter(FLIGHTS * 5))
    load = FlightLoad(Topics(*there), Small(), total=40, years=1, rate=rate)
    load.start()
    return load, senders


def wait_for(load: FlightLoad, what: str) -> None:
    waiting.wait_until(lambda: load.waits_for == what, lambda: load.waits_for)


def test_the_last_flights_wait_until_they_are_to_be_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latency shown was the age of a backlog, because all flights were written at once."""
    load, senders = started_load(monkeypatch, 0, 0, rate=None)

    for what, there in (("row", 10), ("first", 36), ("rest", 37)):
        wait_for(load, what)
        assert (load.produced, load.done) == (there, False)
        assert sum(len(sender.records) for sender in senders) == there
        load.resume()
    load.join(60)

    assert sum(len(sender.records) for sender in senders) == 40
    assert (load.done, load.waits_for, load.total) == (True, "", 40)


def test_with_a_rate_all_flights_are_live(monkeypatch: pytest.MonkeyPatch) -> None:
    load, senders = started_load(monkeypatch, 0, 0, rate=10_000)
    wait_for(load, "first")

    assert (load.produced, [sender.records for sender in senders if sender.records]) == (0, [])

    load.stop()
    assert load.done


@pytest.mark.parametrize("rate", [None, 10_000])
def test_with_a_rate_all_flights_are_written_without_waiting(
    monkeypatch: pytest.MonkeyPatch, rate: float | None
) -> None:
    monkeypatch.setattr(load_module, "LIVE_RATE", 1.0)
    load, senders = started_load(monkeypatch, 0, 0, rate=rate)

    load.go()
    load.join(60)

    assert load.done
    assert sum(len(sender.records) for sender in senders) == 40


def test_a_demo_stopped_during_live_flights_continues_with_the_remaining_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 5 of each 8 belong to partition 0.
    load, senders = started_load(monkeypatch, 20, 18, rate=None)
    wait_for(load, "first")

    assert load.produced == 38
    load.resume()
    wait_for(load, "rest")
    load.resume()
    load.join(60)

    assert sum(len(sender.records) for sender in senders) == 2


def test_every_flight_goes_to_the_partition_of_its_carrier(monkeypatch: pytest.MonkeyPatch) -> None:
    records, total = written(monkeypatch, 0, 0)

    assert total == 8
    assert [(key, at) for key, at, _ in records] == [(f.carrier, f.sched_dep_ms) for f in FLIGHTS]
    assert {p == partition_of(key.encode(), 2) for key, _, p in records} == {True}


def test_a_second_run_writes_only_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    records, total = written(monkeypatch, 2, 1)

    assert [at for _, at, _ in records] == [3, 4, 5, 6, 7]
    assert total == 8


def test_a_run_that_was_cut_off_unevenly_is_filled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 0 has 4 records and partition 1 has 1: its second one, of DL, is still missing."""
    records, total = written(monkeypatch, 4, 1, total=3)

    assert [at for _, at, _ in records] == [4]
    assert total == 6


def test_a_complete_topic_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    records, total = written(monkeypatch, 4, 4)

    assert (records, total) == ([], 8)


def test_a_limit_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    records, total = written(monkeypatch, 0, 0, total=3)

    assert (len(records), total) == (3, 3)


class Endless(Small):
    """A query in DuckDB that takes days."""

    def __init__(self) -> None:
        self._open = None
        self.reading = threading.Event()

    interrupt = Dataset.interrupt

    def flights(self, years: int = 1) -> Iterator[Flight]:
        with self._connected() as database:
            self.reading.set()
            database.execute(
                "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
            )
        yield from FLIGHTS


def test_a_stop_ends_what_is_computed_in_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "_Sender", Sender)
    monkeypatch.setattr(load_module, "_STOP_S", 60.0)
    dataset = Endless()
    load = FlightLoad(Topics(0, 0), dataset, total=8, years=1, rate=None)
    load.start()
    assert dataset.reading.wait(60)

    load.stop()

    # A thread inside of DuckDB would abort the process at its end.
    assert not load.is_alive()
    assert load.error is None
