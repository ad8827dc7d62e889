"""Followers of topics: the current rows of tables, packed, and the last records of streams."""

import json
from collections.abc import Iterator
from itertools import count

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from duolog import Topology
from duolog.runtime import follower as follower_module
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.follower import CurrentRows, Follower, LastRecords
from duolog.runtime.frames import to_arrow, to_pandas, to_polars
from duolog.runtime.topic_values import TopicValues
from duolog.runtime.views import TableRows
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster
from waiting import DEADLINE_S, wait_until


class Written:
    """A topic with values `v` by keys."""

    _numbers = count()

    def __init__(self, bootstrap: str, key: str = "id STRING", partitions: int = 1) -> None:
        self.name = f"written-{next(self._numbers)}"
        self.brokers = Brokers(bootstrap)
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self.create(partitions)
        topology = Topology("rows")
        topology.table(self.name, key=key, value={"v": "BIGINT"}).to(f"{self.name}-out")
        self.values = TopicValues([topology.build().sources[0]])

    def create(self, partitions: int = 1) -> None:
        self.admin.create_topics([NewTopic(self.name, partitions)])[self.name].result(DEADLINE_S)

    def create_again(self, partitions: int = 1) -> None:
        self.admin.delete_topics([self.name])[self.name].result(DEADLINE_S)
        self.create(partitions)

    def write(self, *rows: tuple[str | bytes, object], partition: int = 0) -> None:
        for key, v in rows:
            value = v if v is None or isinstance(v, bytes) else json.dumps({"v": v})
            self._producer.produce(self.name, value, key, partition)
        assert not self._producer.flush(DEADLINE_S)

    def table(self) -> TableRows:
        return TableRows(self.values, self.brokers, lambda _: None)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedCluster(tmp_path_factory.mktemp("followed") / "broker") as cluster:
        yield cluster.bootstrap_servers


def test_a_value_that_cannot_be_decoded_hides_no_row_and_is_counted_once(bootstrap: str) -> None:
    written = Written(bootstrap)
    written.write(("b", 1), ("a", 2), ("b", b"no JSON"), ("c", b"no JSON"), ("a", 3), ("d", None))

    with CurrentRows(written.values, written.brokers) as rows:
        assert rows.catch_up(DEADLINE_S)
        assert rows.shown(1) == ([("a", 3)], 2)
        assert rows.skipped == 2
        written.write(("b", b"no JSON"), ("e", 5))
        assert rows.catch_up(DEADLINE_S)
        assert rows.read(list) == [("a", 3), ("b", 1), ("e", 5)]
        assert rows.skipped == 3


def test_rows_that_are_read_again_are_all_there_or_an_error(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(bootstrap)
    written.write(("a", 1), ("a", b"no JSON"))

    with CurrentRows(written.values, written.brokers) as rows:
        assert rows.catch_up(DEADLINE_S)
        monkeypatch.setattr(Follower, "catch_up", lambda *_: False)

        with pytest.raises(BrokerUnavailable, match=written.name):
            rows.read(list)


def test_of_many_rows_only_those_that_are_shown_are_decoded(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "_DECODED_MAX", 3)
    written = Written(bootstrap)
    written.write(("d", b"no JSON"), ("c", 3), ("b", 2), ("a", 1))

    with CurrentRows(written.values, written.brokers) as rows:
        assert rows.catch_up(DEADLINE_S)
        assert rows.shown(2) == ([("a", 1), ("b", 2)], 4)
        assert rows.read(list) == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize("key", ["id BIGINT", "id DOUBLE", "id STRING"])
def test_rows_are_ordered_by_the_values_of_their_keys(bootstrap: str, key: str) -> None:
    written = Written(bootstrap, key)
    numbers = [5, -3, 0, 2**40, -(2**40)]
    texts = ["é", "z", "", "a", "Z"]
    keys: list[object] = [*texts] if "STRING" in key else [*numbers]
    for one in keys:
        data = written.values.key_bytes(float(one) if "DOUBLE" in key else one)  # type: ignore[arg-type]
        assert data is not None
        written.write((data, 1))

    assert [row[0] for row in written.table().rows()] == sorted(keys)  # type: ignore[type-var]


@pytest.mark.parametrize("after", [1, 9])
def test_a_topic_that_is_created_again_is_read_from_its_start(bootstrap: str, after: int) -> None:
    written = Written(bootstrap)
    written.write(("old", 1), ("older", 2))
    with (
        CurrentRows(written.values, written.brokers) as rows,
        LastRecords(written.values, written.brokers, 20) as last,
    ):
        assert rows.catch_up(DEADLINE_S)
        assert last.catch_up(DEADLINE_S)
        assert last.shown(20) == ([("old", 1), ("older", 2)], 2)

        written.create_again()
        written.write(*(("new", v) for v in range(after)))

        assert rows.catch_up(DEADLINE_S)
        assert rows.read(list) == [("new", after - 1)]
        assert last.catch_up(DEADLINE_S)
        assert last.shown(20) == ([("new", v) for v in range(after)], after)


def test_added_partitions_are_read(bootstrap: str) -> None:
    written = Written(bootstrap)
    written.write(("a", 1))
    with CurrentRows(written.values, written.brokers) as rows:
        assert rows.catch_up(DEADLINE_S)
        asked = NewPartitions(written.name, 2)
        written.admin.create_partitions([asked])[written.name].result(DEADLINE_S)
        other = Producer({"bootstrap.servers": bootstrap})
        wait_until(
            lambda: 1 in other.list_topics(written.name).topics[written.name].partitions, "it"
        )
        other.produce(written.name, json.dumps({"v": 2}), "b", 1)
        assert not other.flush(DEADLINE_S)

        assert rows.catch_up(DEADLINE_S)
        assert rows.read(list) == [("a", 1), ("b", 2)]


def test_frames_are_made_of_parts(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duolog.runtime.frames._ROWS_AT_ONCE", 3)
    written = Written(bootstrap)
    written.write(*((f"k{v}", v) for v in range(8)))
    wanted = [{"id": f"k{v}", "v": v} for v in range(8)]
    table = written.table()

    pandas = table.to_pandas()
    assert pandas.to_dict("records") == wanted
    assert list(pandas.index) == list(range(8))
    assert str(pandas.dtypes["v"]) == "Int64"
    assert table.to_arrow().to_pylist() == wanted
    assert table.to_arrow().column("v").num_chunks == 1
    assert table.to_polars().to_dicts() == wanted


@pytest.mark.parametrize("rows", [0, 3, 6])
def test_frames_of_no_rows_and_of_whole_parts_have_their_types(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr("duolog.runtime.frames._ROWS_AT_ONCE", 3)
    columns = Written(bootstrap).table().columns
    some = [(f"k{v}", v) for v in range(rows)]

    assert [str(of) for of in to_pandas(columns, some).dtypes] == ["object", "Int64"]
    assert [str(of) for of in to_arrow(columns, some).schema.types] == ["string", "int64"]
    assert len(to_polars(columns, some)) == rows
