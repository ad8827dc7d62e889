"""A broker on this machine for the tests of a Kafka program, with faults on demand.

    with duolog.testing.broker() as broker:
        broker.create_topic("orders")
        my_program(broker.bootstrap_servers)

The broker starts in its own process on a free port. It ends with this process, even after SIGKILL,
and its data with it.

Threads: use a `LocalBroker` from one thread at a time.
"""

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from duolog.core.counts import counted
from duolog.core.units import SECOND_MS
from duolog.runtime.errors import BrokerUnavailable
from duolog.testing.cluster import EmbeddedCluster
from duolog.testing.local_broker.errors import FaultRefused, TopicMissing
from duolog.testing.local_broker.scratch import Scratch

if TYPE_CHECKING:
    from duolog.testing.client import Client, Record
    from duolog.testing.topic_reader import TopicReader

logger = logging.getLogger(__name__)

SETTINGS: Final = {
    "durability": "os",
    # Tests use short timeouts, and replication factors of their production cluster.
    "group.min.session.timeout.ms": "1",
    "replication.factor.clamp": "true",
    # The first use of a group or a transaction creates a topic of this many partitions.
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
"""Settings that differ from those of `duolog broker`."""

_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog.testing.local_broker.program")
_MILLISECOND: Final = timedelta(milliseconds=1)
WAIT_S: Final = 60.0
_POLL_S: Final = 0.01
_POLL_S_MAX: Final = 0.2


class LocalBroker:
    """A broker in its own process, for `with`, `async with`, or `start` and `stop`.

    Args:
        settings: broker settings by name, as texts; they take precedence over `SETTINGS`.
        listen: `HOST:PORT`; port 0 chooses a free port.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, listen: str = "127.0.0.1:0"
    ) -> None:
        self._settings = {**SETTINGS, **(settings or {})}
        self._listen = listen
        self._scratch: Scratch | None = None
        self._cluster: EmbeddedCluster | None = None
        self._client: Client | None = None
        self._paused = False
        self._delay_ms = 0
        self._full = False
        self._shift_ms = 0
        self._ended = False
        """True after `stop`."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        cancelled = threading.Event()

        def start() -> None:
            self.start()
            if cancelled.is_set():
                self.stop()

        try:
            await asyncio.to_thread(start)
        except asyncio.CancelledError:
            # `__aexit__` will not be called, and the thread may still be starting the broker.
            cancelled.set()
            self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    # Life.

    def start(self) -> None:
        """Start the broker and return when it accepts connections.

        After `stop`, it has the same address, and no data.

        Raises:
            BrokerUnavailable: it did not start; the detail has the end of its log.
        """
        if self._cluster is not None:
            return
        self._scratch = Scratch()
        cluster = EmbeddedCluster(
            self._scratch.path / "broker",
            self._settings,
            listen=self._listen,
            program=(*_PROGRAM, "--scratch", str(self._scratch.path)),
        )
        try:
            cluster.__enter__()
        except BrokerUnavailable as error:
            self._scratch.remove()
            # Its hint names the log, which has just been deleted; the detail has the log's end.
            raise BrokerUnavailable(error.message, detail=error.detail) from None
        except BaseException:
            self._scratch.remove()
            raise
        self._cluster = cluster

    def stop(self) -> None:
        """Stop the broker and delete its data; may be called again."""
        cluster, self._cluster = self._cluster, None
        self._ended = True
        if cluster is None:
            return
        assert self._scratch is not None
        self._client = None
        self._listen = cluster.bootstrap_servers
        # Nothing of it is read any more, so there is nothing to stop in order.
        cluster.broker.kill()
        cluster.__exit__(None, None, None)
        self._forget_faults()
        self._scratch.remove()

    def kill(self) -> None:
        """Kill the broker with SIGKILL, as a crash does; its port stays reserved."""
        self._started.kill()
        self._paused, self._delay_ms = False, 0

    def restart(self) -> None:
        """Stop the broker if it is running, and start it with the same address and data.

        The clock stays where it is. A pause and delays end.
        """
        self.resume()
        self._started.restart()
        self._delay_ms, shift_ms, self._shift_ms = 0, self._shift_ms, 0
        if self._full:
            self._full = False
            self.fill_disk()
        if shift_ms:
            self.advance(timedelta(milliseconds=shift_ms))

    @property
    def running(self) -> bool:
        """True between `start` and `stop`, except after `kill`."""
        return self._cluster is not None and self._cluster.broker.running

    @property
    def pid(self) -> int:
        """The process id of a running broker."""
        if not self._started.broker.running:
            raise FaultRefused("the broker is not running", hint="Call restart() before.")
        return self._started.pid

    @property
    def log(self) -> str:
        """The broker's log so far."""
        return self._started.broker.log_path.read_text(errors="replace")

    # Addresses.

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT`; the same after `restart`."""
        return self._started.bootstrap_servers

    @property
    def url(self) -> str:
        """The address as a URL: `kafka://HOST:PORT`."""
        return f"kafka://{self.bootstrap_servers}"

    # Topics.

    @property
    def client(self) -> "Client":
        """A client of this broker that waits for every response."""
        if self._client is None:
            from duolog.testing.client import Client  # noqa: PLC0415  Loads librdkafka.

            self._client = Client(self.bootstrap_servers)
        return self._client

    def create_topic(
        self, name: str, partitions: int = -1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until it exists.

        Args:
            name: the topic.
            partitions: their number; -1 for the broker's `num.partitions`, which is 1 by default.
            configs: settings of the topic by name.
        """
        self.client.create_topic(name, partitions, configs)

    def delete_topics(self, *names: str) -> None:
        """Delete topics and wait until they are gone; missing topics are passed over."""
        self.client.delete_topics(*names)

    def read(self, topic: str, *, at_least: int = 0, timeout_s: float = WAIT_S) -> "list[Record]":
        """Return all records of a topic, in order within each partition.

        Wait until it exists and contains `at_least` records; with 0, do not wait.

        Raises:
            TopicMissing: there is no such topic, after the wait.
            BrokerUnavailable: the topic does not contain them in time, or the broker does not
                answer.
        """
        from duolog.testing.client import records_of  # noqa: PLC0415  Loads librdkafka.

        records: list[Record] = []
        with self._reading("duolog-testing") as reader:
            for _ in _polls(timeout_s if at_least else 0):
                records = records_of(reader, topic)
                if len(records) >= at_least and (records or reader.exists(topic)):
                    return records
            _ensure_exists(reader, topic)
        raise BrokerUnavailable(
            f'topic "{topic}" has {counted(len(records), "record")}, not {at_least}',
            detail=f"Waited {timeout_s:g} s.",
        )

    def wait_until_consumed(self, topic: str, group: str, *, timeout_s: float = WAIT_S) -> None:
        """Wait until a consumer group has committed the offsets of all records of a topic.

        Wait until the topic exists, too. Records of aborted and open transactions do not count.

        Raises:
            TopicMissing: there is no such topic, after the wait.
            BrokerUnavailable: the group does not commit them in time, or the broker does not
                answer.
        """
        with self._reading(group) as reader:
            for _ in _polls(timeout_s):
                if reader.consumed(topic) and reader.exists(topic):
                    return
            _ensure_exists(reader, topic)
            lag = reader.lag(topic)
        raise BrokerUnavailable(
            f'group "{group}" has not consumed {counted(lag, "record")} of topic "{topic}"',
            detail=f"Waited {timeout_s:g} s.",
        )

    @contextmanager
    def _reading(self, group: str) -> "Iterator[TopicReader]":
        """Open a reader of a broker that can answer.

        Raises:
            BrokerUnavailable: the broker is paused, is not running, or does not answer in time.
        """
        self._ensure_responsive("read from")
        from confluent_kafka import KafkaException  # noqa: PLC0415  Loads librdkafka.

        with self.client.reader(group) as reader:
            try:
                yield reader
            except KafkaException as error:
                raise BrokerUnavailable(
                    "the broker does not answer", detail=error.args[0].str()
                ) from error

    # Faults.

    def pause(self) -> None:
        """Let the broker do nothing until `resume`: it neither answers nor closes connections.

        Clients can still connect, because the kernel accepts connections.
        """
        if not self._paused:
            self._ask({"command": "pause"})
            self._paused = True

    def resume(self) -> None:
        """End a pause; without a pause, do nothing."""
        if self._paused:
            if self.running:  # Its process may have been killed by another program.
                self._ask({"command": "resume"})
            self._paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the broker for the `with` block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def delay_answers(self, seconds: float) -> None:
        """Send every response this much later from now on; 0 ends the delay.

        Requests take effect without delay.
        """
        delay_ms = round(seconds * SECOND_MS)
        self._ask({"command": "delay", "ms": delay_ms})
        self._delay_ms = delay_ms

    @contextmanager
    def answers_delayed(self, seconds: float) -> Iterator[None]:
        """Delay responses for the `with` block."""
        self.delay_answers(seconds)
        try:
            yield
        finally:
            if self.running:  # A broker that the block has killed delays nothing.
                self.delay_answers(0)

    def fill_disk(self) -> None:
        """Let all writes fail as on a full disk, until `free_disk`.

        The first write that fails takes the broker's log directory offline, as in production:
        producers get KAFKA_STORAGE_ERROR.
        """
        self._ask({"command": "fill", "full": True})
        self._full = True

    def free_disk(self) -> None:
        """Make space on the disk and restart the broker, as an operator must."""
        if self._full:
            self._full = False
            self.restart()

    # Time.

    @property
    def now_ms(self) -> int:
        """The broker's wall-clock time, in milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000 + self._shift_ms

    def advance(self, by: timedelta, *, timers: bool = False) -> None:
        """Advance the broker's clock, and return when expired records are deleted.

        The broker's clock sets the timestamps of topics with LogAppendTime and decides what
        retention deletes. Producers set all other timestamps, from their own clock.

        Args:
            by: how much time passes; negative to go back.
            timers: let the time pass for timeouts as well: sessions of group members,
                transactions and long polls expire. Not with a negative `by`.

        Raises:
            TypeError: `by` is not a timedelta.
            FaultRefused: the broker is not running or paused, or `by` is negative with `timers`.
        """
        if not isinstance(by, timedelta):
            raise TypeError(
                f"advance() takes a timedelta, such as timedelta(minutes=1), not {by!r}"
            )
        if timers and by < timedelta():
            raise FaultRefused(
                "cannot turn back time for timeouts", hint="Leave out timers=True to go back."
            )
        ms = by // _MILLISECOND
        self._ask({"command": "advance", "ms": ms, "timers": timers})
        self._shift_ms += ms

    # All of it.

    def heal(self) -> None:
        """End all faults and return to the present time; topics and records stay.

        A broker that was killed or stopped starts again, and one that does not respond to commands
        is killed and starts again. After `stop`, it has the same address, and no topics.

        Raises:
            BrokerUnavailable: it did not start.
        """
        if self._cluster is None:
            self.start()
            return
        try:
            if self.running:
                self._end_faults()
                # Another program may have stopped the process.
                self._ask({"command": "advance", "ms": 0, "timers": False})
                return
        except BrokerUnavailable as error:
            logger.warning("the broker is killed", extra={"reason": error.message})
        self.kill()
        self._forget_faults()
        self.restart()

    def _end_faults(self) -> None:
        self.resume()
        self.free_disk()
        if self._delay_ms:
            self.delay_answers(0)
        if self._shift_ms:
            self.advance(timedelta(milliseconds=-self._shift_ms))

    def _forget_faults(self) -> None:
        """Take note that the broker's process has ended, and its faults and clock with it."""
        self._paused, self._delay_ms, self._full, self._shift_ms = False, 0, False, 0

    @property
    def _started(self) -> EmbeddedCluster:
        if self._cluster is None:
            raise FaultRefused(
                "the broker has been stopped" if self._ended else "the broker was not started",
                hint="Use it in a with block, or call start().",
            )
        return self._cluster

    def _ensure_responsive(self, verb: str) -> None:
        """Refuse what a broker that is paused or not running cannot do.

        Raises:
            FaultRefused: it is paused, was killed or stopped, or was never started.
        """
        if not self._started.broker.running:
            raise FaultRefused(
                f"cannot {verb} a broker that is not running", hint="Call restart() before."
            )
        if self._paused:
            raise FaultRefused(
                f"cannot {verb} a broker that is paused", hint="Call resume() before."
            )

    def _ask(self, command: Mapping[str, object]) -> None:
        """Send a command to the broker's process and wait until it is carried out."""
        broker = self._started.broker
        if command["command"] != "resume":
            self._ensure_responsive(str(command["command"]))
        try:
            answer = json.loads(broker.ask(json.dumps(command).encode()))
        except BrokerUnavailable as error:
            raise FaultRefused(
                f"the broker did not answer the command {command['command']}",
                detail=error.detail,
                hint="Call kill() and restart(). Topics and records stay.",
            ) from None
        if "error" in answer:
            raise FaultRefused(
                f"the broker could not {command['command']}", detail=str(answer["error"])
            )


def _ensure_exists(reader: "TopicReader", topic: str) -> None:
    if not reader.exists(topic):
        raise TopicMissing(topic)


def _polls(timeout_s: float) -> Iterator[None]:
    """Yield until the time is up, at least once, with growing pauses."""
    until, pause_s = time.monotonic() + timeout_s, _POLL_S
    yield
    while time.monotonic() < until:
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _POLL_S_MAX)
        yield


def broker(settings: Mapping[str, str] | None = None) -> LocalBroker:
    """Return a broker for a `with` or `async with` block.

    Args:
        settings: broker settings by name, as texts, such as `{"num.partitions": "3"}`.
    """
    return LocalBroker(settings)
