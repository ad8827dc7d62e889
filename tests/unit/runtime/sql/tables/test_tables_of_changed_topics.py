"""Answers over topics that are created again, get partitions, or cannot be read in time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.tables import currency, materialized_tables
from duolog.runtime.sql.tables.topic_follower import TopicFollower
from unit.runtime.sql.tables.asked_tables import WAIT_MS, Cluster, asker, running_cluster
from waiting import DEADLINE_S, wait_until


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("tables")) as found:
        yield found


@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize("wanted", ["latest", "snapshot", "stale"])
def test_a_topic_that_was_created_again_with_more_records_is_read_again(
    cluster: Cluster, wanted: str, partitions: int
) -> None:
    """Its end offsets alone do not show that it is another topic."""
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    if wanted == "snapshot":
        one.set(consistency=wanted, timeout_ms=WAIT_MS)
    text = f"SELECT id, v FROM {name};"
    cluster.write(name, "old", 1, partition=0)
    cluster.flush()
    assert one.ask(text) == [("old", 1)]

    cluster.delete(name)
    cluster.create(name, partitions)
    for at in range(9):
        cluster.write(name, "new", at, partition=0)
    cluster.flush()

    if wanted == "stale":
        # Until it is too old, such an answer is that of the topic before.
        assert one.set(staleness_ms_max=3_600_000).answer(text).freshness is not None
        one.set(staleness_ms_max=1)
    assert one.ask(text) == [("new", 8)]


def test_a_topic_that_is_created_again_while_an_answer_waits_for_it_is_read_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end offsets may be those of the new topic, and the id that of the old one."""
    monkeypatch.setattr(currency, "_CHECK_S", 0.05)
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    cluster.write(name, "old", 1, partition=0)
    cluster.flush()
    text = f"SELECT id, v FROM {name} WHERE id IN ('old', 'new');"
    assert one.ask(text) == [("old", 1)]
    follower = present._tables[name].follower  # noqa: SLF001
    follower.hold()
    cluster.write(name, "new", 2, partition=0)
    cluster.flush()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(one.ask, text)
        wait_until(lambda: follower._changed._waiters, "the answer waits")  # type: ignore[attr-defined]  # noqa: SLF001
        cluster.delete(name)
        cluster.create(name)
        cluster.write(name, "new", 3, partition=0)
        cluster.flush()

        assert answer.result(DEADLINE_S) == [("new", 3)]


@pytest.mark.parametrize("consistency", ["latest", "snapshot"])
def test_partitions_that_were_added_are_in_the_next_answer(
    cluster: Cluster, consistency: str
) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements).set(consistency=consistency, timeout_ms=WAIT_MS)
    cluster.write(name, "a", 1, partition=0)
    cluster.flush()
    assert one.ask(f"SELECT id FROM {name};") == [("a",)]
    table = present._tables[name]  # noqa: SLF001

    cluster.grow(name, 4)
    cluster.write_anew(name, "b", 2, partition=3)

    rows = one.answer(f"SELECT id FROM {name};")
    assert sorted(rows) == [("a",), ("b",)]
    assert rows.freshness is not None
    assert rows.freshness.offsets == {name: {0: 1, 1: 0, 2: 0, 3: 1}}
    assert present._tables[name] is table, "the rows were kept"  # noqa: SLF001


def test_an_answer_waits_for_an_offset_of_a_partition_that_was_added(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements).set(staleness_ms_max=3_600_000, timeout_ms=WAIT_MS)
    text = f"SELECT v FROM {name} WHERE id = 'b';"
    assert one.ask(text) == []
    cluster.grow(name, 3)
    cluster.write_anew(name, "b", 2, partition=2)

    assert one.set(offsets_min=f"{name}-2=1").ask(text) == [(2,)]


@pytest.mark.parametrize("consistency", ["latest", "snapshot"])
def test_an_answer_ends_at_the_time_limit_of_its_query(
    cluster: Cluster, consistency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements).set(consistency=consistency, timeout_ms=WAIT_MS)
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    assert one.ask(text) == []
    follower = present._tables[name].follower  # noqa: SLF001
    is_held, may_receive = threading.Event(), threading.Event()

    def receive_nothing() -> None:
        is_held.set()
        assert may_receive.wait(DEADLINE_S)

    monkeypatch.setattr(follower, "_receive", receive_nothing)
    assert is_held.wait(DEADLINE_S)
    cluster.write(name, "a", 1, partition=0)
    cluster.flush()

    with pytest.raises(BrokerUnavailable, match="to its end in time") as failed:
        one.set(timeout_ms=300).ask(text)

    assert f"Reading {name}: " in failed.value.detail
    assert "ksql.query.pull.timeout.ms" in failed.value.hint
    monkeypatch.undo()
    may_receive.set()
    assert one.set(timeout_ms=WAIT_MS).ask(text) == [(1,)]


def test_a_refresh_waits_for_seconds_only(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Look-ups of other tables wait for the same refresh."""
    monkeypatch.setattr(materialized_tables, "_REFRESH_S", 0.05)
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    assert one.ask(text) == []
    table = present._tables[name]  # noqa: SLF001
    table.follower.hold()
    cluster.write(name, "a", 1, partition=0)
    cluster.flush()

    with pytest.raises(BrokerUnavailable, match="to its end in time"):
        present.refresh([table.source])

    table.follower.release()
    assert one.ask(text) == [(1,)]
    assert present._tables[name] is table  # noqa: SLF001


def test_threads_that_arrive_while_a_topic_cannot_be_opened_share_the_error(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,), present, statements = cluster.tables("T")
    attempts, may_fail = [0], threading.Event()

    def start(_: object) -> None:
        attempts[0] += 1
        assert may_fail.wait(DEADLINE_S)
        raise BrokerUnavailable("no broker answers")

    monkeypatch.setattr(TopicFollower, "start", start)
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(asker(present, statements).ask, text) for _ in range(8)]
        wait_until(
            lambda: (
                (table := present._tables.get(name)) is not None  # noqa: SLF001
                and table._start.waiting == 7  # noqa: SLF001
            ),
            "all wait",
        )
        may_fail.set()
        for answer in answers:
            with pytest.raises(BrokerUnavailable, match="no broker answers"):
                answer.result(DEADLINE_S)

    assert attempts == [1]
    monkeypatch.undo()
    assert asker(present, statements).ask(text) == []
