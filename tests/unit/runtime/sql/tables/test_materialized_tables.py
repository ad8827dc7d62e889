"""Answers over tables that many threads ask, with the freshness they want."""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from duolog.core.errors import KafkaError
from duolog.ksql.errors import SqlError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.tables.currency import Currency
from duolog.runtime.sql.tables.end_offsets import EndOffsets, Ends
from duolog.runtime.sql.tables.materialized_table import MaterializedTable
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.runtime.sql.tables.topic_follower import THREAD
from unit.runtime.sql.tables.asked_tables import WAIT_MS, Cluster, asker, running_cluster
from waiting import DEADLINE_S, wait_for_equal, wait_until


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("tables")) as found:
        yield found


def test_each_thread_reads_its_own_writes(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")

    def work(number: int) -> list[object]:
        mine, producer = (
            asker(present, statements),
            Producer({"bootstrap.servers": cluster.bootstrap}),
        )
        seen: list[object] = []
        for v in range(25):
            producer.produce(name, key=f"k{number}", value=json.dumps({"V": v}))
            assert not producer.flush(DEADLINE_S)
            if v % 5:
                seen += mine.ask(f"SELECT v FROM {name} WHERE id = 'k{number}';")
            else:
                seen += mine.ask(f"SELECT v + 0 FROM {name} WHERE id LIKE 'k{number}';")
        return seen

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, range(6)))

    assert results == [[(v,) for v in range(25)]] * 6
    assert sum(thread.name == THREAD for thread in threading.enumerate()) >= 1


def test_answers_state_the_offsets_that_they_include(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    for v in range(3):
        cluster.write(name, "a", v, partition=0)
    cluster.write(name, "b", 9, partition=1)
    cluster.flush()

    for text in (f"SELECT v FROM {name} WHERE id = 'a';", f"SELECT MIN(v) FROM {name};"):
        rows = asker(present, statements).answer(text)

        assert list(rows) == [(2,)]
        assert rows.freshness is not None
        assert rows.freshness.offsets == {name: {0: 3, 1: 1}}
        assert str(rows.freshness) == f"{name}-0=3,{name}-1=1"
        assert rows.freshness.age_ms is not None
        assert rows.freshness.age_ms >= 0


def test_an_answer_states_no_offsets_that_it_may_lack(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    source = asker(present, statements).catalog.sources[name]
    cluster.write(name, "a", 1, partition=0)
    cluster.flush()

    def read(rows: TableRows) -> int:
        found = len(rows)
        cluster.write(name, "b", 2, partition=0)
        cluster.flush()
        wait_until(lambda: len(rows) > found, "the next record is applied")
        return found

    answer = present.read(source, read)

    assert answer.value == 1
    assert answer.freshness.offsets[name][0] == 1


def test_a_failed_copy_is_made_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,), present, statements = cluster.tables("T")
    one, text = asker(present, statements), f"SELECT SUM(v) FROM {name};"
    cluster.write(name, "a", 1)
    cluster.flush()
    assert one.ask(text) == [(1,)]
    cluster.write(name, "a", 5)
    cluster.flush()

    def fail(*_args: object) -> None:
        raise MemoryError

    monkeypatch.setattr(DuckTable, "add", fail)
    with pytest.raises(MemoryError):
        one.ask(text)
    monkeypatch.undo()

    assert one.ask(text) == [(5,)]


def test_a_stale_answer_asks_no_broker_until_it_is_too_old(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,), present, statements = cluster.tables("T")
    cluster.write(name, "a", 1)
    cluster.flush()
    stale = asker(present, statements).set(staleness_ms_max=3_600_000)
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    assert stale.ask(text) == [(1,)]

    def refuse(*_args: object) -> None:
        raise KafkaError("asked", code=7, detail="")

    monkeypatch.setattr(present._currency._committed, "_request", refuse)  # noqa: SLF001
    rows = stale.answer(text)

    assert list(rows) == [(1,)]
    assert rows.freshness is not None
    assert 0 < (rows.freshness.age_ms or 0) < 3_600_000
    with pytest.raises(KafkaError, match="asked"):
        asker(present, statements).ask(text)


def test_a_stale_answer_includes_the_offsets_that_the_client_has_written(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    stale = asker(present, statements).set(staleness_ms_max=3_600_000, timeout_ms=WAIT_MS)
    assert stale.ask(text) == []

    for v in range(20):
        cluster.write(name, "a", v, partition=1)
        cluster.flush()
        stale.set(offsets_min=f"{name}-1={v + 1},of-another-topic-0=99")
        assert stale.ask(text) == [(v,)]


def test_an_answer_waits_for_an_offset_that_does_not_exist_yet(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    waiting = asker(present, statements).set(offsets_min=f"{name}-0=1", timeout_ms=WAIT_MS)
    text = f"SELECT COUNT(*) FROM {name};"
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(waiting.ask, text)
        cluster.write(name, "a", 1, partition=0)
        cluster.flush()

        assert answer.result(DEADLINE_S) == [(1,)]
    with pytest.raises(BrokerUnavailable, match="wanted offsets") as failed:
        waiting.set(offsets_min=f"{name}-0=2", timeout_ms=50).ask(text)
    assert f"reached {name}-0=1" in (failed.value.detail or "")
    with pytest.raises(SqlError, match="no partition 7"):
        waiting.set(offsets_min=f"{name}-7=0").ask(text)


def test_a_snapshot_never_shows_half_of_a_transaction(cluster: Cluster) -> None:
    (a, b), present, statements = cluster.tables("A", "B")
    batches, ended = 40, threading.Event()

    def write() -> None:
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "transactional.id": f"write-{a}"}
        )
        producer.init_transactions()
        for number in range(batches):
            producer.begin_transaction()
            for topic in (a, b):
                for partition in range(2):
                    value = json.dumps({"V": number})
                    producer.produce(topic, key=f"k{partition}", value=value, partition=partition)
            producer.commit_transaction()
        ended.set()

    text = f"SELECT x.v, y.v FROM {a} x FULL JOIN {b} y ON x.id = y.id;"
    asked = 0
    seen: set[object] = set()
    writer = threading.Thread(target=write)
    writer.start()
    with ThreadPoolExecutor(2) as pool:
        while not ended.is_set() or asked == 0:
            mine = [asker(present, statements).set(consistency="snapshot") for _ in range(2)]
            for one in mine:
                one.set(timeout_ms=WAIT_MS)
            for rows in pool.map(lambda one: one.ask(text), mine):
                found = {v for row in rows for v in row}
                assert len(found) <= 1
                assert len(rows) in {0, 2}
                seen |= found
                asked += 1
    writer.join()

    last = asker(present, statements).set(consistency="snapshot")
    assert last.ask(text) == [(batches - 1, batches - 1)] * 2
    assert asker(present, statements).ask(text) == [(batches - 1, batches - 1)] * 2


def test_a_snapshot_waits_while_a_transaction_is_open(cluster: Cluster) -> None:
    (a, b), present, statements = cluster.tables("A", "B")
    cluster.write(a, "k", 0)
    cluster.write(b, "k", 0)
    cluster.flush()
    text = f"SELECT x.v, y.v FROM {a} x JOIN {b} y ON x.id = y.id;"
    snapshot = asker(present, statements).set(consistency="snapshot", timeout_ms=WAIT_MS)
    assert snapshot.ask(text) == [(0, 0)]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": f"open-{a}"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(b, key="k", value=json.dumps({"V": 1}))
    assert not producer.flush(DEADLINE_S)

    with pytest.raises(BrokerUnavailable, match="no consistent moment"):
        snapshot.set(timeout_ms=100).ask(text)
    assert asker(present, statements).ask(text) == [(0, 0)]
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(snapshot.set(timeout_ms=WAIT_MS).ask, text)
        producer.produce(a, key="k", value=json.dumps({"V": 1}))
        producer.commit_transaction()

        assert answer.result(DEADLINE_S) in ([(0, 0)], [(1, 1)])
    assert snapshot.ask(text) == [(1, 1)]


def test_a_snapshot_excludes_what_is_written_after_its_moment(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a, b), present, statements = cluster.tables("A", "B")
    for name in (a, b):
        cluster.write(name, "k", 0, partition=0)
    cluster.flush()
    text = f"SELECT x.v, y.v FROM {a} x JOIN {b} y ON x.id = y.id;"
    snapshot = asker(present, statements).set(consistency="snapshot", timeout_ms=WAIT_MS)
    assert snapshot.ask(text) == [(0, 0)]
    one_moment = Currency._one_moment  # noqa: SLF001

    def then_write(self: Currency, tables: Sequence[MaterializedTable]) -> Ends | None:
        ends = one_moment(self, tables)
        cluster.write(a, "k", 1, partition=0)
        cluster.flush()
        follower = tables[0].follower
        wait_until(
            lambda: follower._received or follower.reached()[0] > 1,  # noqa: SLF001
            "the record arrives",
        )
        return ends

    monkeypatch.setattr(Currency, "_one_moment", then_write)

    rows = snapshot.answer(text)

    assert list(rows) == [(0, 0)]
    assert rows.freshness is not None
    assert rows.freshness.offsets == {a: {0: 1, 1: 0}, b: {0: 1, 1: 0}}
    monkeypatch.undo()
    assert snapshot.ask(text) == [(1, 0)]


def test_a_snapshot_of_a_stream_or_with_stale_rows_is_refused(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    more = f"CREATE STREAM s (id STRING KEY) WITH (kafka_topic='{name}', value_format='JSON');"
    one = asker(present, statements + more).set(consistency="snapshot")

    with pytest.raises(SqlError, match="reads a stream"):
        one.ask("SELECT COUNT(*) FROM s;")
    with pytest.raises(SqlError, match="cannot be stale"):
        one.set(staleness_ms_max=5).ask(f"SELECT COUNT(*) FROM {name};")


def test_a_value_that_cannot_be_decoded_does_not_hide_the_row_before_it(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    cluster.write(name, "a", 1)
    cluster.write(name, "b", 2)
    cluster.write(name, "a", b"no JSON")
    cluster.flush()

    assert one.ask(f"SELECT v FROM {name} WHERE id = 'b';") == [(2,)]
    assert one.ask(f"SELECT v FROM {name} WHERE id = 'a';") == [(1,)]
    cluster.write(name, "b", b"no JSON")
    cluster.flush()
    assert one.ask(f"SELECT SUM(v) FROM {name};") == [(3,)]


def test_a_topic_that_was_created_again_is_read_again(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    for at in range(5):
        cluster.write(name, f"k{at}", at, partition=0)
    cluster.flush()
    assert one.ask(f"SELECT COUNT(*) FROM {name};") == [(5,)]

    cluster.delete(name)
    cluster.create(name)
    cluster.write(name, "new", 7, partition=0)
    cluster.flush()

    assert one.ask(f"SELECT id, v FROM {name};") == [("new", 7)]


def test_a_deleted_topic_is_an_error_until_it_exists_again(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    assert one.ask(f"SELECT * FROM {name} WHERE id = 'a';") == []
    cluster.delete(name)

    with pytest.raises(KafkaError, match=name):
        one.ask(f"SELECT * FROM {name} WHERE id = 'a';")

    cluster.create(name)
    cluster.write(name, "a", 3)
    cluster.flush()
    assert one.ask(f"SELECT v FROM {name} WHERE id = 'a';") == [(3,)]


@pytest.mark.parametrize(
    ("message", "code", "kept"),
    [
        ('cannot read topic "{0}"', 7, [True, True]),
        ('cannot read topic "{0}"', 3, [False, True]),
        ("cannot read end offsets", 7, [True, True]),
    ],
    ids=["the broker restarts", "one topic is deleted", "no answer"],
)
def test_an_error_drops_only_rows_that_cannot_be_brought_up_to_date(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, message: str, code: int, kept: list[bool]
) -> None:
    """To read them again takes minutes, and longer for all tables at once."""
    names, present, statements = cluster.tables("A", "B")
    one = asker(present, statements)
    text = f"SELECT * FROM {names[0]} JOIN {names[1]} ON {names[0]}.id = {names[1]}.id;"
    assert one.ask(text) == []
    tables = dict(present._tables)  # noqa: SLF001
    of = EndOffsets.of

    def refuse(*_: object) -> None:
        raise KafkaError(message.format(names[0]), code=code, detail="")

    monkeypatch.setattr(EndOffsets, "of", refuse)
    with pytest.raises(KafkaError):
        one.ask(text)
    monkeypatch.setattr(EndOffsets, "of", of)

    assert [present._tables.get(name) is tables[name] for name in names] == kept  # noqa: SLF001
    assert one.ask(text) == []


def test_rows_whose_topic_is_not_followed_any_more_are_read_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,), present, statements = cluster.tables("A")
    one = asker(present, statements)
    text = f"SELECT v FROM {name} WHERE id = 'a';"
    assert one.ask(text) == []
    table = present._tables[name]  # noqa: SLF001

    def fail(*_: object) -> None:
        raise ValueError("apply")

    monkeypatch.setattr(table.follower, "_apply", fail)
    cluster.write(name, "a", 1)
    cluster.flush()

    with pytest.raises(KafkaError, match=name):
        one.ask(text)
    assert one.ask(text) == [(1,)]


def test_limits_of_rows_stop_an_answer(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    for at in range(5):
        cluster.write(name, f"k{at}", at)
    cluster.flush()
    one = asker(present, statements).set(rows_max=3)

    assert len(one.ask(f"SELECT * FROM {name} WHERE v < 3;")) == 3
    with pytest.raises(SqlError, match="after 3 rows"):
        one.ask(f"SELECT * FROM {name};")
    keys = ", ".join(f"'k{at}'" for at in range(5))
    with pytest.raises(SqlError, match="after 3 rows"):
        one.ask(f"SELECT * FROM {name} WHERE id IN ({keys});")


def test_only_retained_tables_are_followed(cluster: Cluster) -> None:
    (a, b), present, statements = cluster.tables("A", "B")
    one = asker(present, statements)
    for name in (a, b):
        cluster.write(name, "k", 1)
    cluster.flush()
    text = f"SELECT x.v, y.v FROM {a} x JOIN {b} y ON x.id = y.id;"
    assert one.ask(text) == [(1, 1)]
    followed = sum(thread.name == THREAD for thread in threading.enumerate())

    present.retain({b: one.catalog.sources[b]})

    def left() -> int:
        return sum(thread.name == THREAD for thread in threading.enumerate())

    wait_for_equal(left, followed - 1)
    assert one.ask(text) == [(1, 1)]


def test_closed_tables_refuse_questions(cluster: Cluster) -> None:
    (name,), present, statements = cluster.tables("T")
    one = asker(present, statements)
    one.ask(f"SELECT COUNT(*) FROM {name};")

    present.close()
    present.close()

    with pytest.raises(BrokerUnavailable, match="closed"):
        one.ask(f"SELECT COUNT(*) FROM {name};")
