"""Rows of stores are read once per commit; the test answers in place of Spark."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duolog import Application, Processor, Record, Topology, key_value_store, tumbling
from duolog.engine.stores import CommittedRows, CommittedStore, KeptRow
from duolog.plan.nodes import Node
from duolog.runtime.committed_stores import CommittedStores
from duolog.runtime.store_rows import Bounds, StoreRows, table_of_store
from duolog.runtime.store_view import StoreView

ROWS: list[KeptRow] = [
    (("ann", 0, 10), (1,), 1),
    (("ann", 10, 20), (2,), 12),
    (("bob", 10, 20), (3,), 15),
]


def table() -> Node:
    topology = Topology("visits")
    read = topology.stream("visits", key="name STRING", value="place STRING")
    windowed = read.group_by_key().windowed_by(tumbling("10 ms", grace="1 day"))
    windowed.materialized("windows").count("n").to("w")
    return table_of_store(topology.build(), "windows")


class Disk:
    """A checkpoint: its rows, and the bounds of each read."""

    def __init__(self) -> None:
        self.table = table()
        self.rows = list(ROWS)
        self.version = 1
        self.exists = True
        self.reads: list[Bounds] = []
        self.stores = CommittedStores()
        self.view = StoreView(self.table, self._read)

    def _read(self, bounds: Bounds) -> StoreRows:
        rows, version = list(self.rows), self.version

        def read(bounds: Mapping[str, tuple[object, object]]) -> CommittedRows:
            self.reads.append(dict(bounds))
            return CommittedRows(iter(_within(bounds, rows)), {"visits": {0: len(rows)}})

        store = CommittedStore(version, read) if self.exists else None
        return self.stores.rows(self.table, store, bounds)

    def commit(self, *rows: KeptRow) -> None:
        self.rows += rows
        self.version += 1


def _within(bounds: Mapping[str, tuple[object, object]], rows: list[KeptRow]) -> list[KeptRow]:
    places = {"name": 0, "window_start": 1, "window_end": 2}

    def fits(row: KeptRow) -> bool:
        return all(
            (low is None or low <= row[0][places[name]])  # type: ignore[operator]
            and (high is None or row[0][places[name]] <= high)  # type: ignore[operator]
            for name, (low, high) in bounds.items()
        )

    return [row for row in rows if fits(row)]


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_all_rows_of_a_commit_are_read_once_and_answer_every_call(disk: Disk) -> None:
    rows = disk.view.all()

    assert disk.view.all() is rows
    assert disk.view.get(("ann", 0, 10)) == {"n": 1}
    assert disk.view.get(("ann", 0, 11)) is None
    assert list(disk.view.range(("ann", 10, 20), ("bob", 99, 0))) == [
        ("ann", 10, 20),
        ("bob", 10, 20),
    ]
    assert list(disk.view.prefix_scan("b")) == [("bob", 10, 20)]
    assert disk.view.fetch("ann", from_ms=1) == {(10, 20): {"n": 2}}
    assert list(disk.view.fetch_all(to_ms=9)) == [("ann", 0, 10)]
    assert list(disk.view.find_sessions("ann", latest_start_ms=9)) == [(0, 10)]
    assert disk.view.fetch_all(from_ms=10).position == {"visits": {0: 3}}
    assert disk.reads == [{}]


def test_a_commit_is_read_and_earlier_results_stay_as_they_were(disk: Disk) -> None:
    before = disk.view.all()
    assert disk.view.get(("eve", 0, 10)) is None

    disk.commit((("eve", 0, 10), (9,), 9))

    assert disk.view.all() == dict(before) | {("eve", 0, 10): {"n": 9}}
    assert disk.view.get(("eve", 0, 10)) == {"n": 9}
    assert disk.view.all().position == {"visits": {0: 4}}
    assert len(before) == 3
    assert before.position == {"visits": {0: 3}}
    assert disk.reads == [{}, {}]


def test_a_look_up_transfers_only_its_rows_and_is_not_repeated(disk: Disk) -> None:
    for _ in range(2):
        assert disk.view.fetch("ann") == {(0, 10): {"n": 1}, (10, 20): {"n": 2}}
        assert disk.view.get(("bob", 10, 20)) == {"n": 3}
        assert disk.view.get(("eve", 10, 20)) is None

    assert len(disk.reads) == 3
    assert {} not in disk.reads
    assert len(disk.view.all()) == 3, "results within bounds are not all rows"
    disk.commit((("eve", 10, 20), (4,), 16))
    assert disk.view.get(("eve", 10, 20)) == {"n": 4}
    assert len(disk.reads) == 5


def test_calls_without_bounds_are_one_read(disk: Disk) -> None:
    assert len(disk.view.range()) == len(disk.view.fetch_all()) == len(disk.view.all()) == 3
    assert len(disk.reads) == 1


def test_an_empty_store_is_kept_too(disk: Disk) -> None:
    disk.rows = []

    assert disk.view.all() == {}
    assert disk.view.all() == {}
    assert disk.view.get(("ann", 0, 10)) is None
    assert len(disk.reads) == 1


def test_results_of_look_ups_are_limited(disk: Disk) -> None:
    for start in range(0, 400, 10):
        disk.view.get(("ann", start, start + 10))
    assert len(disk.reads) == 40

    disk.view.get(("ann", 390, 400))
    assert len(disk.reads) == 40, "a late one is kept"
    disk.view.get(("ann", 0, 10))
    assert len(disk.reads) == 41, "the first one is not"


def test_rows_are_dropped_with_the_checkpoint_and_by_clear(disk: Disk) -> None:
    disk.view.all()
    disk.exists = False
    assert disk.view.all() == {}
    assert disk.view.all().position == {}
    disk.exists = True

    assert len(disk.view.all()) == 3
    disk.stores.clear()
    assert len(disk.view.all()) == 3
    assert len(disk.reads) == 3


def test_a_later_commit_that_another_thread_reads_meanwhile_is_not_replaced_by_old_rows(
    disk: Disk,
) -> None:
    def read(_bounds: object) -> CommittedRows:
        disk.commit((("eve", 0, 10), (9,), 9))
        assert disk.view.get(("eve", 0, 10)) == {"n": 9}
        return CommittedRows(ROWS)

    old = disk.stores.rows(disk.table, CommittedStore(1, read), {})

    assert len(old) == 3
    assert len(disk.view.all()) == 4


def test_all_rows_that_another_thread_reads_meanwhile_stay(disk: Disk) -> None:
    def look(start: int) -> None:
        """Read within bounds, while all later starts are read, and then all rows."""

        def read(bounds: Mapping[str, tuple[object, object]]) -> CommittedRows:
            if start < 20:
                look(start + 1)
            else:
                disk.view.all()
            return CommittedRows(_within(bounds, ROWS))

        bounds: Bounds = {"window_start": (start, start)}
        disk.stores.rows(disk.table, CommittedStore(1, read), bounds)

    look(0)

    assert len(disk.view.all()) == 3
    assert len(disk.reads) == 1


def test_an_application_drops_rows_when_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[object] = []

    def read(bounds: object) -> CommittedRows:
        reads.append(bounds)
        return CommittedRows([(("ann",), (1,), 1)])

    topology = Topology("visits")
    visits = topology.stream("visits", key="name STRING", value="place STRING")
    visits.group_by_key().materialized("counts").count("n").to("counted")
    application = Application(topology, bootstrap_servers="127.0.0.1:1", data_dir=tmp_path)
    engine = SimpleNamespace(committed_store=lambda *_given: CommittedStore(1, read))
    monkeypatch.setattr(application, "_engine_of_this", lambda: engine)

    rows = application.store("counts").all()
    assert application.store("counts").all() is rows == {"ann": {"n": 1}}
    application.close()

    assert application.store("counts").all() is not rows
    assert reads == [{}, {}]
    assert rows == {"ann": {"n": 1}}


class Keeping(Processor):
    """Keeps the last value of each key."""

    def init(self, context: Any) -> None:
        self.last = context.store("last")

    def process(self, record: Record) -> None:
        self.last.put(record.key, 1)


def test_the_store_of_a_processor_is_read_once_whatever_the_bounds() -> None:
    """Spark returns all its entries: only Python can read them."""
    topology = Topology("sensors")
    readings = topology.stream("readings", key="sensor STRING", value="celsius DOUBLE")
    last = key_value_store("last", key="sensor STRING", value="at BIGINT")
    readings.process(Keeping, stores=[last], value="at BIGINT", name="keeping").to("kept")
    table, stores = table_of_store(topology.build(), "last"), CommittedStores()
    reads: list[object] = []

    def read(bounds: object) -> CommittedRows:
        reads.append(bounds)
        return CommittedRows([(("cellar",), (1,), 1), (("roof",), (2,), 2)])

    view = StoreView(table, lambda bounds: stores.rows(table, CommittedStore(1, read), bounds))

    assert view.get("roof") == {"at": 2}
    assert view.get("cellar") == {"at": 1}
    assert view.get("attic") is None
    assert len(view.all()) == 2
    assert len(reads) == 1


def test_a_read_that_fails_keeps_nothing(disk: Disk) -> None:
    disk.rows.append((("bad",), (), 1))  # Too few columns for the condition of the look-up.

    with pytest.raises(IndexError):
        disk.view.fetch_all(from_ms=0)
    disk.rows.pop()

    assert len(disk.view.fetch_all(from_ms=0)) == 3
