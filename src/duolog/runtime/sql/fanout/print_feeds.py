"""Read a topic once for all PRINT statements that show its new records.

    PRINT t                 joins the shared reader of the topic at its end
    PRINT t FROM BEGINNING  an own reader ── at the end ─▶ joins
    slow client             buffer full ─▶ an own reader from there ── at the end ─▶ joins again

A client joins if no partition of the shared reader is after its position, and then skips the
records before that. So it gets each record once, in the order of each partition. A client that
reads slowly never ends and never delays others; only its own reader waits for it.

Clients share records, not lines: each guesses formats by the schemas that its user may read.

Threads: one for each topic that is read; one takes the records of a client; any may call `close`.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from duolog.core.errors import KafkaError
from duolog.runtime.sql.fanout.errors import ReadersClosed
from duolog.runtime.sql.fanout.offset_reader import TopicOffsets
from duolog.runtime.sql.fanout.positions import Positions, reaches
from duolog.security.clients.brokers import Brokers

RECORDS_MAX: Final = 50_000
"""Records that wait for a client; with the next batch, it gets an own reader."""
BYTES_MAX: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 500
_WAIT_S: Final = 0.1
_OPTIONS: Final = {
    "group.id": "duolog-print",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": 8192,
    "log_level": 0,
}
Topic = tuple[str, str]
"""The name and the id of a topic: one that is created again is another topic."""


class _Reader:
    """A Kafka client that reads one topic from positions; used by one thread at a time."""

    def __init__(self, brokers: Brokers, topic: str, positions: Positions) -> None:
        self._topic = topic
        self.positions = dict(positions)
        self._consumer = Consumer(brokers.client(_OPTIONS))
        self._ended: set[int] = set()
        try:
            self._consumer.assign([TopicPartition(topic, *at) for at in positions.items()])
        except KafkaException as error:
            self._consumer.close()
            raise refused(topic, error.args[0]) from error

    @property
    def at_end(self) -> bool:
        """True if the end of each partition has been reached, and no record has come since."""
        return self._ended >= self.positions.keys()

    def read(self, timeout_s: float) -> list[Message]:
        """Return the records that arrive within a time; it does not wait for more than one.

        Raises:
            KafkaError: the topic cannot be read.
        """
        came = self._consumer.consume(1, timeout_s)
        if came:
            came += self._consumer.consume(_AT_ONCE - 1, 0)
        found = []
        for one in came:
            error, number, offset = one.error(), one.partition() or 0, one.offset() or 0
            if error is None:
                found.append(one)
                self.positions[number] = offset + 1
                self._ended.discard(number)
            elif error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001 - the client's own code
                self.positions[number] = max(self.positions[number], offset)
                self._ended.add(number)
            else:
                raise refused(self._topic, error)
        return found

    def close(self) -> None:
        self._consumer.close()


class _Feed:
    """The shared reader of a topic, with a thread.

    Args:
        failed: called when it has ended by an error.
    """

    def __init__(
        self, brokers: Brokers, topic: str, starts: Positions, failed: Callable[["_Feed"], None]
    ) -> None:
        self._failed = failed
        self._lock = threading.Lock()
        self._members: list[PrintedRecords] = []
        self._positions = dict(starts)
        self._stopping = False
        self._error: BaseException | None = None
        self._reader = _Reader(brokers, topic, starts)
        self._thread = threading.Thread(target=self._run, name=f"duolog-print-{topic}", daemon=True)
        self._thread.start()

    def join(self, member: "PrintedRecords") -> bool:
        """Let a client have the records from its position on; return false if it is too early.

        Raises:
            KafkaError: the topic cannot be read.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            if not reaches(member.positions, self._positions):
                return False
            member.floor = dict(member.positions)
            self._members.append(member)
            return True

    def leave(self, member: "PrintedRecords") -> bool:
        """Forget a client; return true if there are no others."""
        with self._lock:
            self._members = [one for one in self._members if one is not member]
            return not self._members

    def stop(self) -> None:
        """Stop reading, without waiting for the thread."""
        self._stopping = True

    def close(self) -> None:
        """End all clients, and wait for the thread."""
        self.stop()
        self._fail(ReadersClosed())
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping:
                records = self._reader.read(_WAIT_S)
                with self._lock:
                    self._positions = dict(self._reader.positions)
                    members = [one for one in self._members if one.offer(records, self._positions)]
                    self._members = members
        except BaseException as error:  # noqa: BLE001 - the clients raise it
            self._fail(error)
            self._failed(self)
        finally:
            self._reader.close()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            members, self._members = self._members, []
        for one in members:
            one.fail(error)


class PrintedRecords:
    """The records of one client.

    Args:
        feeds: the shared readers.
        topic: the topic.
        positions: where the client starts.
        shared: True to join at once, for a client that starts at the end.
    """

    def __init__(
        self, feeds: "PrintFeeds", topic: Topic, positions: Positions, *, shared: bool
    ) -> None:
        self._feeds = feeds
        self._topic = topic
        self.positions = dict(positions)
        """After the records that were taken."""
        self.floor: Positions = {}
        """Records of the shared reader before it are not for this client."""
        self._changed = threading.Condition()
        self._waiting: deque[Sequence[Message]] = deque()
        self._count = self._bytes = 0
        self._error: BaseException | None = None
        self._left_behind = False
        self._closed = False
        self._own: _Reader | None = None
        self._feed: _Feed | None = feeds.join(topic, self) if shared else None
        if self._feed is None:
            self._own = feeds.reader(topic, self.positions)

    @property
    def is_shared(self) -> bool:
        """True if the client has no reader of its own."""
        return self._own is None

    def take(self, timeout_s: float) -> Sequence[Message]:
        """Return the next records, possibly none after a time.

        Raises:
            KafkaError: the topic cannot be read.
        """
        if self._own is not None:
            return self._take_own(self._own, timeout_s)
        with self._changed:
            if not (self._waiting or self._left_behind or self._error or self._closed):
                self._changed.wait(timeout_s)
            if self._waiting:
                records = self._waiting.popleft()
                self._count -= len(records)
                self._bytes -= sum(map(len, records))
                for one in records:
                    self.positions[one.partition() or 0] = (one.offset() or 0) + 1
                return records
            if self._error is not None:
                raise self._error
            if not self._left_behind or self._closed:
                return ()
            self._left_behind = False
        self._leave()
        self._own = self._feeds.reader(self._topic, self.positions)
        return ()

    def offer(self, records: Sequence[Message], after: Positions) -> bool:
        """Add the records of the shared reader up to its positions; return false at the end.

        Then the client does not need further ones: it has left, or gets an own reader.
        """
        floor = self.floor
        if floor:
            records = [
                one for one in records if (one.offset() or 0) >= floor.get(one.partition() or 0, 0)
            ]
            if reaches(after, floor):
                self.floor = {}
        if not records:
            return not self._closed
        with self._changed:
            if self._closed:
                return False
            size = sum(map(len, records))
            if self._count and (
                self._count + len(records) > RECORDS_MAX or self._bytes + size > BYTES_MAX
            ):
                self._left_behind = True
            else:
                self._waiting.append(records)
                self._count += len(records)
                self._bytes += size
            self._changed.notify_all()
            return not self._left_behind

    def fail(self, error: BaseException) -> None:
        """End the records with an error, after those that wait."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def close(self) -> None:
        """Leave the shared reader, or close the own one. Does nothing if closed."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self._leave()
        if self._own is not None:
            self._own.close()

    def _leave(self) -> None:
        feed, self._feed = self._feed, None
        if feed is not None:
            self._feeds.leave(self._topic, feed, self)

    def _take_own(self, own: _Reader, timeout_s: float) -> Sequence[Message]:
        records = own.read(timeout_s)
        self.positions = dict(own.positions)
        if own.at_end:
            self._feed = self._feeds.join(self._topic, self)
            if self._feed is not None:
                self._own = None
                own.close()
        return records


class PrintFeeds:
    """The shared readers of one cluster; each starts with its first client.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        self._offsets: TopicOffsets | None = None
        self._lock = threading.RLock()
        self._feeds: dict[Topic, _Feed] = {}
        self._closed = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics that are read."""
        with self._lock:
            return sorted(name for name, _ in self._feeds)

    def records(self, topic: str, *, from_beginning: bool = False) -> PrintedRecords:
        """Return the records that are appended from now on, or all.

        Raises:
            KafkaError: there is no such topic, or it cannot be read.
        """
        with self._lock:
            offsets = self._offsets = self._offsets or TopicOffsets(self.brokers)
        state = offsets.state(topic)
        find = offsets.first if from_beginning else offsets.ends
        positions = find(topic, state.partitions)
        return PrintedRecords(self, (topic, state.id), positions, shared=not from_beginning)

    def reader(self, topic: Topic, positions: Positions) -> _Reader:
        """Return a reader for one client.

        Raises:
            KafkaError: the topic cannot be read.
        """
        return _Reader(self.brokers, topic[0], positions)

    def join(self, topic: Topic, member: PrintedRecords) -> _Feed | None:
        """Return the shared reader that a client has joined; None if the client is too early.

        Raises:
            KafkaError: the topic cannot be read.
        """
        with self._lock:
            if self._closed:
                raise ReadersClosed
            feed = self._feeds.get(topic)
            if feed is None:
                feed = _Feed(
                    self.brokers, topic[0], member.positions, lambda one: self._forget(topic, one)
                )
                self._feeds[topic] = feed
            return feed if feed.join(member) else None

    def leave(self, topic: Topic, feed: _Feed, member: PrintedRecords) -> None:
        """Forget a client; the reader stops with its last one."""
        with self._lock:
            if feed.leave(member):
                feed.stop()
                self._forget(topic, feed)

    def close(self) -> None:
        """Stop all shared readers, and end their clients with `ReadersClosed`."""
        with self._lock:
            self._closed = True
            feeds, self._feeds = list(self._feeds.values()), {}
        for feed in feeds:
            feed.close()

    def _forget(self, topic: Topic, feed: _Feed) -> None:
        with self._lock:
            if self._feeds.get(topic) is feed:
                del self._feeds[topic]


def refused(topic: str, error: ClientError) -> KafkaError:
    """Return the error for a topic that cannot be read."""
    return KafkaError(f'cannot read topic "{topic}"', code=error.code(), detail=f"{error.str()}.")
