"""Bring clients to the position of a shared reader, with few threads and connections.

A client that starts at the earliest record, continues with a token, or starts with the current rows
of a table gets turns of a worker, each with one consumer, until it joins the shared reader. While
its buffer has no room it gets no turn, so a slow client slows only itself.

Threads: workers, which start with the first client; any may add clients.
"""

import os
import threading
import time
from queue import SimpleQueue
from typing import Final

from duolog.runtime.sql.fanout.batch_database import BatchDatabase, BatchTables
from duolog.runtime.sql.fanout.errors import error_of_query
from duolog.runtime.sql.fanout.feed import Feed
from duolog.runtime.sql.fanout.member import Member
from duolog.runtime.sql.fanout.offset_reader import OffsetReader
from duolog.runtime.sql.fanout.records import Decoder
from duolog.security.clients.brokers import Brokers

WORKERS_MAX: Final = 4
_TURN_S: Final = 0.5
_RECORDS_MAX: Final = 5_000
_WAIT_S: Final = 0.1

Waiting = tuple[Member, Feed]


class CatchUps:
    """The workers.

    Args:
        brokers: the brokers of the cluster.
        database: for the evaluation.
    """

    def __init__(self, brokers: Brokers, database: BatchDatabase) -> None:
        self._brokers = brokers
        self._database = database
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        # Rows that are dropped may add a client in any thread, also in one that has the lock.
        self._lock = threading.RLock()
        self._threads: list[threading.Thread] = []
        self._stopping = False

    def add(self, member: Member, feed: Feed) -> None:
        """Give turns to a client until it has joined its shared reader or has ended."""
        with self._lock:
            if self._stopping:
                return
            if len(self._threads) < min(WORKERS_MAX, max(2, os.cpu_count() or 1)):
                thread = threading.Thread(
                    target=self._work, name=f"duolog-catch-up-{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        self._queue.put((member, feed))

    def close(self) -> None:
        """Stop the workers, after their current batch."""
        with self._lock:
            self._stopping = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        reader: OffsetReader | None = None
        try:
            while (waiting := self._queue.get()) is not None and not self._stopping:
                member, feed = waiting
                try:
                    reader = reader or OffsetReader(self._brokers)
                    self._turn(member, feed, reader)
                except Exception as error:  # noqa: BLE001 - reported to the client
                    member.buffer.fail(error_of_query(error))
                if reader is not None and self._queue.empty():
                    reader.rest()
        finally:
            if reader is not None:
                reader.close()

    def _turn(self, member: Member, feed: Feed, reader: OffsetReader) -> None:
        turn = _Turn(member, feed, reader, self._database.tables(feed.source))
        try:
            end = time.monotonic() + _TURN_S
            while not (self._stopping or member.buffer.ended):
                if member.buffer.when_room(lambda: self.add(member, feed)):
                    return
                if not turn.step():
                    return
                if time.monotonic() > end and not self._queue.empty():
                    self.add(member, feed)
                    return
        finally:
            turn.close()


class _Turn:
    """A client with what it uses during a turn."""

    def __init__(
        self, member: Member, feed: Feed, reader: OffsetReader, tables: BatchTables
    ) -> None:
        self._member = member
        self._feed = feed
        self._reader = reader
        self._tables = tables
        self._decoder = Decoder(feed.source)

    def step(self) -> bool:
        """Offer some rows; return false if the client needs no more turns.

        Raises:
            DuologError: the topic cannot be read, or the query has failed.
        """
        member = self._member
        if member.needs_snapshot:
            member.begin(self._feed.snapshot())
        if member.in_snapshot:
            member.show_more(self._tables)
            return True
        if self._feed.admit(member) != "too early":
            return False
        assert member.positions is not None
        member.positions = self._feed.with_all_partitions(member.positions)
        self._reader.seek(self._feed.source.topic, member.positions)
        messages, after = self._reader.read(_RECORDS_MAX, _WAIT_S)
        member.take(self._decoder.batch(messages, member.positions, after), self._tables)
        return True

    def close(self) -> None:
        self._tables.close()
