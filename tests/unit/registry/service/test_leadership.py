"""Only a registry that knows all that was written before gets a writer."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from duolog.registry.service import leadership as module
from duolog.registry.service.leadership import Leadership
from duolog.registry.service.replica import Replica
from duolog.registry.store.errors import RecordTooLarge, WriterFenced, WriteUncertain
from duolog.registry.store.stored import NewRecord, StoredRecord
from unit.registry.service.fakes import BARRIER, MemoryTopic
from unit.registry.turns import turns, until

RECORD = NewRecord(b"key", b"value")


class Leader:
    """A replica and its leadership over a topic in memory."""

    def __init__(self, topic: MemoryTopic) -> None:
        self.topic = topic
        self.read: list[StoredRecord] = []
        self.replica = Replica(self.read.append)
        self.replica.attach(asyncio.get_running_loop())
        topic.replicas.append(self.replica)
        self.leadership = Leadership(self.replica, topic.open_writer, BARRIER)

    async def lead(self) -> None:
        self.leadership.gain()
        await until(lambda: self.leadership.writer is not None)


def run(scenario: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_S", 0)
    monkeypatch.setattr(module, "_FENCED_RETRY_S", 0)
    asyncio.run(scenario())  # type: ignore[arg-type]


def test_the_writer_is_there_only_after_the_barrier_was_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        topic.append(NewRecord(b"of an older leader", b"1"))
        topic.delivering = False
        leader = Leader(topic)

        leader.leadership.gain()
        await until(lambda: len(topic.records) == 2)
        await turns(20)
        before = leader.leadership.writer
        topic.deliver()
        await until(lambda: leader.leadership.writer is not None)

        assert before is None
        assert [record.key for record in leader.read] == [b"of an older leader", BARRIER.key]
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_an_append_returns_when_its_records_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        await leader.lead()
        writer = leader.leadership.writer
        assert writer is not None

        topic.delivering = False
        append = asyncio.create_task(leader.leadership.append(writer, [RECORD, RECORD]))
        await until(lambda: len(topic.records) == 3)
        await turns(20)
        early = append.done()
        topic.deliver()

        assert await append == 2
        assert not early
        assert len(leader.read) == 3
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_a_registry_that_loses_the_leadership_closes_its_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        await leader.lead()

        leader.leadership.lose()

        assert leader.leadership.writer is None
        assert not leader.leadership.owned
        await leader.leadership.stop()
        assert topic.writers[0].closed.wait(60)

    run(scenario, monkeypatch)


@pytest.mark.parametrize(
    "error",
    [
        WriterFenced("fenced", code=0),
        WriteUncertain("uncertain", code=0),
        RecordTooLarge("large", code=0),
    ],
)
def test_after_a_failed_write_a_new_writer_and_a_new_barrier_are_needed(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        await leader.lead()
        writer = leader.leadership.writer
        assert writer is not None
        topic.writers[0].error = error

        with pytest.raises(type(error)):
            await leader.leadership.append(writer, [RECORD])
        at_once = leader.leadership.writer
        await until(lambda: leader.leadership.writer is not None)

        assert at_once is None
        assert leader.leadership.writer is topic.writers[1]
        assert [record.key for record in topic.records] == [BARRIER.key, BARRIER.key]
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_no_decision_is_made_on_a_state_that_lacks_the_last_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REPLAY_S", 0)

    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        await leader.lead()
        writer = leader.leadership.writer
        assert writer is not None

        topic.delivering = False
        with pytest.raises(WriteUncertain):
            await leader.leadership.append(writer, [RECORD])
        at_once = leader.leadership.writer
        topic.delivering = True
        topic.deliver()
        await until(lambda: leader.leadership.writer is not None)

        assert at_once is None
        assert [record.key for record in leader.read] == [BARRIER.key, RECORD.key, BARRIER.key]
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_a_request_that_is_cancelled_in_the_middle_of_a_write_leaves_no_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        await leader.lead()
        writer = leader.leadership.writer
        assert writer is not None
        topic.delivering = False
        append = asyncio.create_task(leader.leadership.append(writer, [RECORD]))
        await until(lambda: len(topic.records) == 2)

        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append

        assert leader.leadership.writer is not writer
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_a_broker_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        topic.unavailable = 3
        leader = Leader(topic)

        await leader.lead()

        assert len(topic.writers) == 1
        await leader.leadership.stop()

    run(scenario, monkeypatch)


def test_a_newer_leader_fences_the_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        older, newer = Leader(topic), Leader(topic)
        await older.lead()
        writer = older.leadership.writer
        assert writer is not None

        await newer.lead()
        older.leadership.lose()
        with pytest.raises(WriterFenced):
            await older.leadership.append(writer, [RECORD])

        assert [record.key for record in topic.records] == [BARRIER.key, BARRIER.key]
        await older.leadership.stop()
        await newer.leadership.stop()

    run(scenario, monkeypatch)


def test_a_replica_that_failed_never_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        topic = MemoryTopic()
        leader = Leader(topic)
        leader.replica.fail(ValueError("damaged"))
        await until(lambda: leader.replica.failure is not None)

        leader.leadership.gain()
        await turns(50)

        assert leader.leadership.writer is None
        assert topic.writers == []
        await leader.leadership.stop()

    run(scenario, monkeypatch)
