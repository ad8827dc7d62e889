"""Serve push queries over single sources with one reader per source.

    readers = SharedReaders(brokers)
    rows = readers.subscribe(Shape.of(select, catalog, source), "latest", tokens)
    rows.next_rows(timeout_s=1.0)

Two sources over one topic with other columns or formats have a reader each.

Threads: any. One thread per source, one that watches the topics, a few for clients that catch up;
none per client.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Literal

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.shared_attempt import SharedAttempt
from duolog.runtime.sql.fanout.batch_database import BatchDatabase
from duolog.runtime.sql.fanout.catch_up import CatchUps
from duolog.runtime.sql.fanout.errors import ReadersClosed, RecordsDeleted, TokenRefused
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.feed import Feed
from duolog.runtime.sql.fanout.member import Member
from duolog.runtime.sql.fanout.offset_reader import TopicOffsets
from duolog.runtime.sql.fanout.positions import Place, Positions
from duolog.runtime.sql.fanout.row_buffer import BufferLimits, ResultRow, RowBuffer
from duolog.runtime.sql.fanout.tokens import Continued, Tokens, same_rows
from duolog.runtime.sql.fanout.topic_watch import TopicWatch, adapt
from duolog.security.clients.brokers import Brokers

Start = Literal["earliest", "latest"] | Continued

_LIMITS: Final = BufferLimits()


class SharedRows:
    """Rows of one client; a `RowSource`.

    Threads: one takes rows; any may call `close`, which does not block.
    """

    def __init__(self, buffer: RowBuffer, tokens: Tokens, left: Callable[[], None]) -> None:
        self._buffer = buffer
        self._tokens = tokens
        self._left = left
        self._lock = threading.Lock()

    def next_rows(self, timeout_s: float) -> Sequence[ResultRow]:
        """Return the rows that arrive within a time, possibly none.

        Raises:
            ClientTooSlow: the rows did not fit into the client's buffer.
            DuologError: the query has failed.
        """
        return self._buffer.take(timeout_s)

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call a function, from any thread, when rows arrive after `next_rows` returned none.

        It is also called at the end of the query, and at once if rows wait.
        """
        self._buffer.when_ready(call)

    def token(self, unread: int = 0) -> str:
        """Return the token to continue after the returned rows, but for the last `unread`."""
        return self._tokens.token(self._buffer.place(unread))

    def close(self) -> None:
        with self._lock:
            if self._buffer.closed:
                return
            self._buffer.close()
        self._left()

    def __del__(self) -> None:
        # A program may drop the rows without closing them.
        self.close()


class _Entry:
    """The reader of a source, with the number of its clients.

    Args:
        open_feed: starts the reader, for the first client.
    """

    def __init__(self, open_feed: "Callable[[_Entry], Feed]") -> None:
        self.opening = SharedAttempt(lambda: open_feed(self))
        self.clients = 0
        self.feed: Feed | None = None


class SharedReaders:
    """The readers of one cluster; they start with the first client of a source.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        # Rows that are dropped leave in any thread, also in one that has the lock.
        self._lock = threading.RLock()
        self._entries: dict[SourceInfo, _Entry] = {}
        self._offsets = TopicOffsets(brokers)
        self._database = BatchDatabase()
        self._catch_ups = CatchUps(brokers, self._database)
        self._stopped: list[Feed] = []
        """Readers that end."""
        self._closed = False
        self._watch = TopicWatch(self._offsets, self._feeds)

    def subscribe(
        self, shape: Shape, start: Start, tokens: Tokens, limits: BufferLimits = _LIMITS
    ) -> SharedRows:
        """Return the rows of a query.

        Args:
            shape: the query.
            start: where it starts: for a table, `latest` is with its current rows.
            tokens: for the tokens of the rows.
            limits: the limits of the client's buffer.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be read.
            RecordsDeleted: records after the place to start from are gone.
            TokenRefused: the place to start from is not one of the topic.
        """
        key = same_rows(shape.source)
        entry = self._entered(key)
        try:
            # The reader first: so a client that starts at the end is not before its position.
            feed = entry.opening.get()
            if not adapt(feed, self._offsets.state(shape.source.topic), self._offsets):
                # The clients of the topic that is gone have got an error.
                gone, entry = entry, self._entered(key)
                self._leave(key, gone)
                feed = entry.opening.get()
            member = self._member(shape, start, feed, limits)
            feed.add(member)
        except BaseException:
            self._leave(key, entry)
            raise
        of_topic = tokens.of_topic(feed.topic_id)
        return SharedRows(member.buffer, of_topic, lambda: self._leave(key, entry))

    @property
    def sources(self) -> list[str]:
        """The names of the sources that are read."""
        with self._lock:
            return sorted(source.name for source in self._entries)

    def close(self) -> None:
        """Stop all readers, and end their queries with `ReadersClosed`."""
        with self._lock:
            self._closed = True
            feeds = [one.feed for one in self._entries.values() if one.feed is not None]
            feeds += self._stopped
            self._entries.clear()
        self._watch.close()
        for feed in feeds:
            feed.stop()
        for feed in feeds:
            feed.close()
        self._catch_ups.close()
        self._database.close()

    def _member(self, shape: Shape, start: Start, feed: Feed, limits: BufferLimits) -> Member:
        topic, partitions = shape.source.topic, feed.partitions
        positions: Positions | None
        match start:
            case Continued():
                _ensure_same_topic(topic, start, feed)
                first = self._offsets.first(topic, partitions)
                if start.place is None:
                    return Member(shape, RowBuffer(limits, None), first, Place(first))
                ends = self._offsets.ends(topic, partitions)
                place = _checked(topic, start.place, first, ends)
                positions = first if shape.source.is_table else place.offsets
                return Member(shape, RowBuffer(limits, place), positions, place)
            case "earliest":
                positions = self._offsets.first(topic, partitions)
            case _ if shape.source.is_table:
                positions = None
            case _:
                positions = self._offsets.ends(topic, partitions)
        place_ = None if positions is None else Place(positions)
        return Member(shape, RowBuffer(limits, place_), positions)

    def _entered(self, source: SourceInfo) -> _Entry:
        """Return the entry of a source, with one more client."""
        with self._lock:
            if self._closed:
                raise ReadersClosed
            if source not in self._entries:
                self._entries[source] = _Entry(lambda entry: self._opened(source, entry))
            entry = self._entries[source]
            entry.clients += 1
            return entry

    def _opened(self, source: SourceInfo, entry: _Entry) -> Feed:
        """Start the reader of a source.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be read.
        """
        # The client itself would retry for as long as a request may take.
        ensure_reachable(self._brokers)
        # The id first: if the topic is created again now, that is noticed.
        state = self._offsets.state(source.topic)
        ends = self._offsets.ends(source.topic, state.partitions)
        starts = self._offsets.first(source.topic, ends) if source.is_table else ends
        with self._lock:
            if self._closed:
                raise ReadersClosed
            entry.feed = feed = Feed(
                source,
                state.id,
                self._brokers,
                self._database,
                starts=starts,
                ends=ends,
                catch_up=lambda member: self._catch_ups.add(member, feed),
                failed=lambda: self._forget(source, entry),
            )
        self._watch.start()
        return feed

    def _feeds(self) -> list[Feed]:
        with self._lock:
            return [one.feed for one in self._entries.values() if one.feed is not None]

    def _leave(self, source: SourceInfo, entry: _Entry) -> None:
        with self._lock:
            entry.clients -= 1
            if entry.clients > 0:
                return
            if self._entries.get(source) is entry:
                del self._entries[source]
            if entry.feed is not None:
                entry.feed.stop()
                self._stopped = [one for one in self._stopped if one.is_running]
                self._stopped.append(entry.feed)

    def _forget(self, source: SourceInfo, entry: _Entry) -> None:
        """Let the next client of a source start another reader."""
        with self._lock:
            if self._entries.get(source) is entry:
                del self._entries[source]


def _ensure_same_topic(topic: str, start: Continued, feed: Feed) -> None:
    if start.topic_id and feed.topic_id and start.topic_id != feed.topic_id:
        raise TokenRefused(
            f'the continuation token belongs to an earlier topic "{topic}"',
            detail="That topic was deleted, and another one was created under its name.",
            hint="Start the query again without a continuation token.",
        )


def _checked(topic: str, place: Place, first: Positions, ends: Positions) -> Place:
    """Return a place with all partitions of the topic; new ones start at their first record."""
    offsets = {at: place.offsets.get(at, first[at]) for at in ends}
    gone = sorted(place.offsets.keys() - ends.keys())
    for at in gone or [at for at, offset in offsets.items() if offset > ends[at]]:
        found = "has no such partition" if gone else f"ends at offset {ends[at]}"
        raise TokenRefused(
            f'the continuation token does not fit topic "{topic}"',
            detail=f"It names offset {place.offsets[at]} of partition {at}; the topic {found}.",
            hint="The topic was recreated: start the query again without a continuation token.",
        )
    for at, offset in offsets.items():
        if offset < first[at]:
            raise RecordsDeleted(topic, at, offset, first[at])
    return Place(offsets, place.given)
