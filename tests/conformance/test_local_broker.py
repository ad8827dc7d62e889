"""`duolog.testing.broker`: faults and time travel, seen by real clients."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import waiting
from duolog import testing
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.errors import BrokerUnavailable
from duolog.testing import Client, LocalBroker
from duolog.testing.local_broker.errors import FaultRefused, TopicMissing

DAY: Final = timedelta(days=1)
DAY_MS: Final = DAY // timedelta(milliseconds=1)
STAMPED: Final = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalBroker]:
    with testing.broker() as broker:
        yield broker


@pytest.fixture
def broker(shared: LocalBroker) -> Iterator[LocalBroker]:
    yield shared
    shared.heal()


def refused(producer: Producer, topic: str) -> int | None:
    """Produce a record; return the code of the error, or None if it was written."""
    codes: list[int | None] = []
    producer.produce(
        topic, b"1", on_delivery=lambda error, _: codes.append(error.code() if error else None)
    )
    assert producer.flush(60) == 0
    return codes[0]


def test_a_paused_broker_answers_after_it_is_resumed(broker: LocalBroker) -> None:
    broker.create_topic("paused")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    assert refused(producer, "paused") is None

    with broker.paused():
        producer.produce("paused", b"2")
        unanswered = producer.flush(0.5)

    assert unanswered == 1
    assert producer.flush(60) == 0
    assert [record.value_text for record in broker.read("paused")] == ["1", "2"]


def test_a_delayed_answer_is_late_although_the_record_is_written(broker: LocalBroker) -> None:
    broker.create_topic("delayed")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    assert refused(producer, "delayed") is None

    with broker.answers_delayed(3600):
        producer.produce("delayed", b"2")
        unanswered = producer.flush(0.5)

    assert unanswered == 1
    assert producer.flush(60) == 0  # The end of the delay sends what was late.
    assert [record.value_text for record in broker.read("delayed")] == ["1", "2"]


def test_a_full_disk_refuses_records_until_it_is_freed(broker: LocalBroker) -> None:
    broker.create_topic("full")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "retries": 0})
    assert refused(producer, "full") is None

    broker.fill_disk()
    code = refused(producer, "full")
    broker.free_disk()

    assert code == KafkaError.KAFKA_STORAGE_ERROR
    client = Client(broker.bootstrap_servers)
    client.produce("full", None, "2")
    assert [record.value_text for record in client.read("full")] == ["1", "2"]


def test_a_full_disk_stays_full_after_a_restart(broker: LocalBroker) -> None:
    broker.create_topic("still-full")
    broker.fill_disk()

    broker.kill()
    broker.restart()

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "retries": 0})
    assert refused(producer, "still-full") == KafkaError.KAFKA_STORAGE_ERROR


def test_records_expire_when_the_clock_is_advanced(broker: LocalBroker) -> None:
    broker.create_topic("expiring", configs={"retention.ms": str(7 * DAY_MS)})
    broker.create_topic("kept", configs={"retention.ms": "-1"})
    for topic in ("expiring", "kept"):
        broker.client.produce(topic, None, "old")

    broker.advance(6 * DAY)
    before = len(broker.read("expiring"))
    broker.advance(2 * DAY)

    assert before == 1
    assert broker.read("expiring") == []
    assert len(broker.read("kept")) == 1


def test_log_append_time_follows_the_clock_until_the_broker_is_healed(
    broker: LocalBroker,
) -> None:
    broker.create_topic("stamped", configs=STAMPED)
    broker.client.produce("stamped", None, "today")
    broker.advance(30 * DAY)
    broker.client.produce("stamped", None, "in a month")
    now_ms = broker.now_ms
    broker.heal()
    broker.client.produce("stamped", None, "today again")

    first, second, third = (record.timestamp_ms for record in broker.read("stamped"))

    assert second - first >= 30 * DAY_MS
    assert second <= now_ms
    assert third < second


def test_the_clock_stays_advanced_after_a_restart(broker: LocalBroker) -> None:
    broker.create_topic("restarted", configs=STAMPED)
    broker.client.produce("restarted", None, "1")
    broker.advance(30 * DAY)

    broker.restart()

    broker.client.produce("restarted", None, "2")
    first, second = (record.timestamp_ms for record in broker.read("restarted"))
    assert second - first >= 30 * DAY_MS


MEMBER: Final = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2],
                     "session.timeout.ms": 1800000, "max.poll.interval.ms": 1900000})
consumer.subscribe([sys.argv[3]], on_assign=lambda *_: print("assigned", flush=True))
while True:
    consumer.poll(1)
"""


def test_time_for_timers_expires_the_session_of_a_member_that_crashed(broker: LocalBroker) -> None:
    """The other member gets the partition of the dead one, half an hour before its session ends."""
    broker.create_topic("shifts")
    where = [broker.bootstrap_servers, "workers", "shifts"]
    with subprocess.Popen(
        [sys.executable, "-c", MEMBER, *where], stdout=subprocess.PIPE
    ) as crashing:
        assert crashing.stdout is not None
        assert crashing.stdout.readline() == b"assigned\n"
        crashing.kill()
    consumer = Consumer({"bootstrap.servers": where[0], "group.id": where[1]})
    assigned: list[object] = []
    consumer.subscribe(["shifts"], on_assign=lambda _, partitions: assigned.extend(partitions))
    admin = AdminClient({"bootstrap.servers": where[0]})

    def members() -> int:
        consumer.poll(0)
        described = admin.describe_consumer_groups(["workers"])["workers"].result(60)
        return len(described.members)

    waiting.wait_until(lambda: members() == 2, "the second member has not joined")
    assert assigned == []

    broker.advance(timedelta(hours=1), timers=True)

    waiting.wait_until(lambda: consumer.poll(0) or assigned, "the second member has no partition")
    consumer.close()


def test_a_killed_broker_is_healed_with_its_records(broker: LocalBroker) -> None:
    broker.create_topic("killed")
    broker.client.produce("killed", None, "1")
    address = broker.bootstrap_servers

    broker.kill()
    running = broker.running
    broker.heal()

    assert (running, broker.running) == (False, True)
    assert broker.bootstrap_servers == address
    assert [record.value_text for record in Client(address).read("killed")] == ["1"]


def test_a_broker_that_was_stopped_is_healed_on_its_address_without_its_topics() -> None:
    with LocalBroker() as broker:
        broker.create_topic("stopped")
        address = broker.bootstrap_servers
        broker.stop()

        broker.heal()

        assert broker.bootstrap_servers == address
        admin = AdminClient({"bootstrap.servers": address})
        assert "stopped" not in admin.list_topics(timeout=60).topics


def test_a_paused_broker_whose_process_is_killed_is_healed(broker: LocalBroker) -> None:
    broker.pause()
    os.kill(broker.pid, signal.SIGKILL)
    waiting.wait_until(lambda: not broker.running, "the broker is still running")

    broker.heal()

    assert broker.running
    with broker.paused():
        assert broker.running


def test_a_broker_that_does_not_respond_to_commands_is_killed_and_restarted(
    monkeypatch: pytest.MonkeyPatch, broker: LocalBroker
) -> None:
    broker.create_topic("hung")
    broker.client.produce("hung", None, "1")
    broker.delay_answers(3600)
    pid = broker.pid
    os.kill(pid, signal.SIGSTOP)
    ask = BrokerProcess.ask
    monkeypatch.setattr(BrokerProcess, "ask", lambda self, line: ask(self, line, timeout_s=0.1))

    with pytest.raises(FaultRefused, match="did not answer the command pause"):
        broker.pause()
    broker.heal()
    monkeypatch.undo()

    assert broker.pid != pid
    assert [record.value_text for record in broker.read("hung")] == ["1"]


def test_a_block_with_delays_in_which_the_broker_is_killed_ends_without_an_error(
    broker: LocalBroker,
) -> None:
    with broker.answers_delayed(3600):
        broker.kill()
    broker.restart()

    broker.create_topic("after-delays")


def test_the_pid_of_a_killed_broker_is_refused(broker: LocalBroker) -> None:
    broker.kill()

    with pytest.raises(FaultRefused, match="the broker is not running"):
        _ = broker.pid


def test_a_replication_factor_of_production_is_accepted(broker: LocalBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    admin.create_topics([NewTopic("replicated", 2, 3)])["replicated"].result(60)

    assert broker.read("replicated") == []


def test_reading_a_topic_that_does_not_exist_is_reported(broker: LocalBroker) -> None:
    with pytest.raises(TopicMissing, match='topic "misspelt" does not exist'):
        broker.read("misspelt")
    with pytest.raises(TopicMissing, match='topic "misspelt" does not exist'):
        broker.read("misspelt", at_least=1, timeout_s=0)
    with pytest.raises(TopicMissing, match='topic "misspelt" does not exist'):
        broker.wait_until_consumed("misspelt", "group", timeout_s=0)


def test_reading_waits_for_a_topic_that_is_created_later(broker: LocalBroker) -> None:
    def create() -> None:
        Client(broker.bootstrap_servers).produce("created-later", None, "1")

    with ThreadPoolExecutor() as pool:
        created = pool.submit(create)
        records = broker.read("created-later", at_least=1)
        created.result()

    assert [record.value_text for record in records] == ["1"]


def test_reading_from_a_broker_that_cannot_answer_is_refused(broker: LocalBroker) -> None:
    broker.create_topic("unread")
    with broker.paused():
        with pytest.raises(FaultRefused, match="cannot read from a broker that is paused"):
            broker.read("unread")
        with pytest.raises(FaultRefused, match="cannot read from a broker that is paused"):
            broker.wait_until_consumed("unread", "group")
    broker.kill()
    with pytest.raises(FaultRefused, match="cannot read from a broker that is not running"):
        broker.read("unread", at_least=1)


def test_a_broker_that_another_program_has_stopped_is_healed(
    monkeypatch: pytest.MonkeyPatch, broker: LocalBroker
) -> None:
    broker.create_topic("stopped")
    pid = broker.pid
    os.kill(pid, signal.SIGSTOP)
    ask = BrokerProcess.ask
    monkeypatch.setattr(BrokerProcess, "ask", lambda self, line: ask(self, line, timeout_s=0.1))

    broker.heal()
    monkeypatch.undo()

    assert broker.pid != pid
    assert broker.read("stopped") == []


def test_topics_have_the_number_of_partitions_that_the_broker_is_set_to() -> None:
    with testing.broker({"num.partitions": "3"}) as broker:
        broker.create_topic("by-default")
        broker.create_topic("one", partitions=1)
        topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(
            timeout=60
        )

    assert [len(topics.topics[name].partitions) for name in ("by-default", "one")] == [3, 1]


def test_a_fault_of_a_broker_that_cannot_carry_it_out_is_refused(broker: LocalBroker) -> None:
    with broker.paused(), pytest.raises(FaultRefused, match="cannot advance a broker that is pa"):
        broker.advance(DAY)
    with pytest.raises(FaultRefused, match="cannot turn back time"):
        broker.advance(-DAY, timers=True)
    broker.kill()
    with pytest.raises(FaultRefused, match="cannot pause a broker that is not running"):
        broker.pause()
    with pytest.raises(FaultRefused, match="was not started"):
        _ = LocalBroker().bootstrap_servers
    with pytest.raises(TypeError, match="a timedelta, such as"):
        broker.advance(60)  # type: ignore[arg-type]  # A frequent mistake.


def test_deleted_topics_are_gone_and_missing_ones_are_passed_over(broker: LocalBroker) -> None:
    broker.create_topic("deleted")

    broker.delete_topics("deleted", "never-created")

    assert (
        "deleted"
        not in AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        .list_topics(timeout=60)
        .topics
    )


def test_an_unknown_setting_is_reported_by_its_name() -> None:
    with (
        pytest.raises(BrokerUnavailable, match="did not start") as caught,
        LocalBroker({"durabilty": "os"}),
    ):
        pass

    assert '"durability"' in caught.value.detail
    assert ".log" not in caught.value.hint


def test_a_stopped_broker_leaves_nothing_behind() -> None:
    broker = LocalBroker()
    broker.start()
    pid, log_path = broker.pid, Path(broker._started.broker.log_path)  # noqa: SLF001
    broker.pause()

    broker.stop()
    broker.stop()

    assert not log_path.parent.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(FaultRefused, match="the broker has been stopped"):
        _ = broker.bootstrap_servers


def test_a_broker_whose_start_is_cancelled_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout of asyncio cancels the start; the thread that starts the broker continues."""
    made: list[LocalBroker] = []
    begun, cancelled = threading.Event(), threading.Event()
    start = LocalBroker.start

    def start_slowly(broker: LocalBroker) -> None:
        begun.set()
        assert cancelled.wait(60)
        start(broker)

    monkeypatch.setattr(LocalBroker, "start", start_slowly)

    async def enter() -> None:
        made.append(testing.broker())
        async with made[0]:
            pass

    async def run() -> None:
        entering = asyncio.create_task(enter())
        await asyncio.to_thread(begun.wait, 60)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        cancelled.set()

    asyncio.run(run())  # It waits for its threads.

    assert not made[0].running


def test_async_with_starts_and_stops_a_broker() -> None:
    async def run() -> tuple[bool, LocalBroker]:
        async with testing.broker({"num.partitions": "3"}) as broker:
            return broker.running, broker

    running, broker = asyncio.run(run())

    assert running
    assert not broker.running


PARENT: Final = """
import sys, threading
from duolog import testing
from duolog.runtime.errors import BrokerUnavailable
broker = testing.broker()
broker.start()
if sys.argv[1] == "paused":
    broker.pause()
print(broker.pid, broker._scratch.path, flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("state", ["running", "paused"])
def test_nothing_is_left_of_a_broker_whose_parent_is_killed(state: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, path = parent.stdout.readline().split()
        parent.send_signal(signal.SIGKILL)

        waiting.wait_until(lambda: not Path(path).exists(), "the data are still there")
        waiting.wait_until(lambda: gone(int(pid)), "the broker outlived its parent")


def gone(pid: int) -> bool:
    """Return True if the process has ended: it does not exist, or is a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


@pytest.mark.parametrize(
    "command",
    [b'{"command": "pause"}\n', b'{"command": "pau'],
    ids=["while it waits for an answer", "while it writes a command"],
)
def test_a_broker_ends_if_its_parent_is_killed_during_a_command(
    command: bytes, tmp_path: Path
) -> None:
    program = ["duolog.testing.local_broker.program", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", *program, "--data", str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as broker:
        assert broker.stdin is not None
        assert broker.stdout is not None
        broker.stdout.readline()

        # What the kernel does with the pipes of a process that is killed.
        broker.stdout.close()
        broker.stdin.write(command)
        broker.stdin.close()

        try:
            broker.wait(waiting.DEADLINE_S)
        finally:
            broker.kill()
