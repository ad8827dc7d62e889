"""Fetch sessions: a client of many partitions names them once, and hears only of what changed.

    epoch 0    whole request, begins a session    every partition is answered, with a session id
    epoch n    only what the client changed       only what changed here is answered
    epoch -1   whole request, ends a session      every partition is answered

A partition of a session is either `ready`, to be read by the next fetch, or it waits at the
broker's partition for a change. So a fetch costs what changed, not what the session holds: a
consumer of a thousand quiet partitions costs as much as one of ten. Partitions that gave records go
to the end of the line, so that a busy one does not starve the others.

A session outlives its connection. When all places are taken, one that was not used for two
minutes gives way, or else one that is older than that and not larger than the new one. Large
sessions together have at most `PARTITIONS_MAX` partitions, because a client may name any number.

Source: KIP-227, KIP-516; Kafka `FetchSession`, `FetchManager`.
"""

import random
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.broker.fetch import needs
from duolog.broker.fetch.partition_reads import Fetched, fetch, find_topic, read_partition
from duolog.broker.topics.topics import Waiter
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import (
    PARTITIONS_A_STEP,
    FetchPartition,
    FetchRequest,
    FetchResult,
    TopicKey,
)

if TYPE_CHECKING:
    from duolog.broker.requests.in_flight import FileSpan
    from duolog.broker.requests.needs import Connection
    from duolog.broker.topics.topics import Partition
    from duolog.security.identity.principal import Identity

EVICTION_S: Final = 120.0
"""Kafka's MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS."""

PARTITIONS_MAX: Final = 1_000_000
"""A partition takes some 300 bytes."""
_SMALL: Final = 1000
"""Sessions of fewer partitions are only bounded by their number."""

_BEGIN: Final = 0
_END: Final = -1
_CLOSED: Final = -2
_EPOCH_MAX: Final = 2**31 - 1
_NONE: Final = 0
_FAILED: Final = Fetched([], 0, failed=True)


class Broker(needs.Broker, Protocol):
    """The broker, as sessions see it."""

    fetch_sessions: "FetchSessions"


class WaitingFetch(Waiter, Protocol):
    """A fetch that waits, as a session sees it."""

    def expire(self) -> None:
        """Answer with what there is."""


class Response(NamedTuple):
    """An answer to a fetch request, before it is written."""

    error_code: int
    session_id: int
    results: "list[tuple[TopicKey, list[FetchResult[FileSpan]]]]"


class SessionPartition:
    """A partition of a session: what was asked, what was answered, and where it waits."""

    __slots__ = ("asked", "high_watermark", "key", "log_start_offset", "session", "waits_at")

    def __init__(self, session: "FetchSession", key: TopicKey, asked: FetchPartition) -> None:
        self.session = session
        self.key = key
        self.asked = asked
        self.high_watermark = -1
        self.log_start_offset = -1
        self.waits_at: Partition | None = None

    def check(self) -> None:
        """Something has changed: the next fetch reads it, and one that waits is woken."""
        if self.waits_at is None:
            return  # It is ready, or it was forgotten meanwhile.
        self.make_ready()
        session = self.session
        if session.waiter is not None:
            session.broker.check_soon(session.waiter)

    def make_ready(self) -> None:
        self.leave()
        self.session.ready[self] = None

    def wait_at(self, partition: "Partition") -> None:
        del self.session.ready[self]
        partition.waiters.add(self)
        self.waits_at = partition

    def leave(self) -> None:
        if self.waits_at is not None:
            self.waits_at.waiters.discard(self)
            self.waits_at = None

    def changed(self, result: "FetchResult[FileSpan]") -> bool:
        """Return whether the client must hear of this result."""
        return (
            result.size_bytes > 0
            or result.error_code != ErrorCode.NONE
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
        )

    def answered(self, result: "FetchResult[FileSpan]") -> None:
        """Note what the response reports; after an error it is reported again."""
        failed = result.error_code != ErrorCode.NONE
        self.high_watermark = -1 if failed else result.high_watermark
        self.log_start_offset = result.log_start_offset


class FetchSession:
    """The partitions that one client fetches."""

    __slots__ = (
        "broker",
        "by_id",
        "client",
        "created_at",
        "epoch",
        "id",
        "partitions",
        "ready",
        "rights",
        "used_at",
        "waiter",
    )

    def __init__(
        self, broker: "Broker", session_id: int, now: float, client: "Identity", *, by_id: bool
    ) -> None:
        self.broker = broker
        self.id = session_id
        self.client = client
        """The client as it was when its rights were last looked at."""
        self.rights = _rights(broker)
        self.by_id = by_id
        self.epoch = 1
        self.created_at = self.used_at = now
        self.partitions: dict[tuple[TopicKey, int], SessionPartition] = {}
        self.ready: dict[SessionPartition, None] = {}
        self.waiter: WaitingFetch | None = None

    def follow_rights(self, client: "Identity") -> Generator[None, None, None]:
        """Let every partition be read again, in steps, if its client may have other rights now."""
        rights = _rights(self.broker)
        if rights == self.rights and client == self.client:
            return
        left = PARTITIONS_A_STEP
        for item in list(self.partitions.values()):
            if item.waits_at is not None:
                item.make_ready()
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
        self.rights, self.client = rights, client

    def update(self, request: FetchRequest) -> Generator[None, None, None]:
        """Take over, in steps, what the client changed."""
        left = PARTITIONS_A_STEP
        for key, partitions in request.topics:
            for asked in partitions:
                item = self.partitions.get((key, asked.partition))
                if item is None:
                    item = SessionPartition(self, key, asked)
                    self.partitions[key, asked.partition] = item
                item.asked = asked
                item.make_ready()
                left -= 1
                if left < 0:
                    left = PARTITIONS_A_STEP
                    yield
        for key, indexes in request.forgotten:
            for index in indexes:
                left -= 1
                if left < 0:
                    left = PARTITIONS_A_STEP
                    yield
                item = self.partitions.pop((key, index), None)
                if item is not None:
                    item.leave()
                    self.ready.pop(item, None)

    def close(self) -> None:
        """End the session and release its partitions in steps, because there can be very many."""
        self.epoch = _CLOSED
        self.ready.clear()
        self.broker.slices.run(self._forgetting())

    def _forgetting(self) -> Iterator[None]:
        # Old objects are rarely garbage-collected: partitions must not keep a reference to them.
        while self.partitions:
            self.partitions.popitem()[1].leave()
            if len(self.partitions) % PARTITIONS_A_STEP == 0:
                yield


class WholeFetch:
    """A fetch that lists all its partitions; it can start a session."""

    def __init__(
        self, connection: "Connection[Broker]", request: FetchRequest, *, begins: bool, by_id: bool
    ) -> None:
        self.request = request
        self._connection = connection
        self._broker = connection.broker
        self._begins = begins
        self._by_id = by_id
        self._partitions: list[Partition] = []

    @property
    def waits(self) -> bool:
        """True if the fetch can wait for more data."""
        return bool(self.request.topics)

    @property
    def many(self) -> bool:
        """True if the fetch takes more than one step."""
        return sum(len(partitions) for _, partitions in self.request.topics) >= PARTITIONS_A_STEP

    def fetch(self) -> Generator[None, None, Fetched]:
        return fetch(self._connection, self.request)

    def respond(self, fetched: Fetched) -> Generator[None, None, Response]:
        for key, size_bytes in fetched.bytes_by_topic:
            _count(self._connection, key, size_bytes)
        session_id = 0
        if self._begins:
            sessions = self._broker.fetch_sessions
            client = self._connection.identity
            session_id = yield from sessions.begin(self.request, fetched, client, by_id=self._by_id)
        return Response(_NONE, session_id, fetched.results)

    def withhold(self) -> Response:
        """Return an answer without partitions; it begins no session."""
        return Response(_NONE, 0, [])

    def park(self, waiter: "WaitingFetch") -> Generator[None, None, None]:
        """Wait at every partition of the request."""
        left = PARTITIONS_A_STEP
        for key, partitions in self.request.topics:
            topic = find_topic(self._broker, key)
            for asked in partitions:
                partition = topic.partition(asked.partition) if topic else None
                if partition is not None and waiter not in partition.waiters:
                    partition.waiters.add(waiter)
                    self._partitions.append(partition)
                left -= 1
                if left < 0:
                    left = PARTITIONS_A_STEP
                    yield
                    topic = find_topic(self._broker, key)

    def leave(self, waiter: "WaitingFetch") -> None:
        for partition in self._partitions:
            partition.waiters.discard(waiter)


class SessionFetch:
    """An incremental fetch of an existing session."""

    def __init__(
        self, connection: "Connection[Broker]", session: FetchSession, request: FetchRequest
    ) -> None:
        self.request = request
        self._connection = connection
        self.ready = session.ready
        self._session = session
        self._epoch = session.epoch
        self._updated = False
        self._found: list[tuple[SessionPartition, FetchResult[FileSpan]]] = []

    @property
    def waits(self) -> bool:
        return bool(self._session.partitions)

    @property
    def many(self) -> bool:
        return len(self._session.partitions) >= PARTITIONS_A_STEP

    def _is_over(self) -> bool:
        """True if the client has continued the session meanwhile, or it was closed."""
        return self._session.epoch != self._epoch

    def fetch(self) -> Generator[None, None, Fetched]:
        """Read, in steps, what is ready; what has nothing new waits from now on."""
        broker, request = self._session.broker, self.request
        if not self._updated:
            self._updated = True
            for _ in self._session.update(request):
                yield
                if self._is_over():
                    return _FAILED
        for _ in self._session.follow_rights(self._connection.identity):
            yield
            if self._is_over():
                return _FAILED
        size_bytes, failed, left = 0, False, PARTITIONS_A_STEP
        bytes_max = min(request.bytes_max, broker.fetch_bytes_max)
        self._found = []
        for item in list(self._session.ready):
            partition, result = read_partition(
                self._connection,
                item.key,
                item.asked,
                bytes_max - size_bytes,
                first=size_bytes == 0,
                committed=request.read_committed,
            )
            if item.changed(result):
                size_bytes += result.size_bytes
                failed = failed or result.error_code != ErrorCode.NONE
                self._found.append((item, result))
            elif partition is not None and self._at_end(item, result):
                item.wait_at(partition)
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
                if self._is_over():
                    return _FAILED
        return Fetched([], size_bytes, failed)

    def _at_end(self, item: SessionPartition, result: "FetchResult[FileSpan]") -> bool:
        committed = self.request.read_committed
        bound = result.last_stable_offset if committed else result.high_watermark
        return item.asked.fetch_offset >= bound

    def respond(self, fetched: Fetched) -> Generator[None, None, Response]:
        """Return the changes, in steps, unless the client continues the session meanwhile."""
        del fetched
        session, left = self._session, PARTITIONS_A_STEP
        over = Response(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id, [])
        if self._is_over():
            return over
        results: list[tuple[TopicKey, list[FetchResult[FileSpan]]]] = []
        for item, result in self._found:
            item.answered(result)
            if result.size_bytes:
                session.ready.pop(item, None)
                session.ready[item] = None
                _count(self._connection, item.key, result.size_bytes)
            if not results or results[-1][0] != item.key:
                results.append((item.key, []))
            results[-1][1].append(result)
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
                if self._is_over():
                    return over
        if not session.partitions:
            session.broker.fetch_sessions.remove(session.id)
            return Response(_NONE, 0, results)
        return Response(_NONE, session.id, results)

    def withhold(self) -> Response:
        """Return an answer without partitions; what was found is found again by the next fetch."""
        over = self._is_over()
        return Response(
            ErrorCode.INVALID_FETCH_SESSION_EPOCH if over else _NONE, self._session.id, []
        )

    def park(self, waiter: "WaitingFetch") -> Generator[None, None, None]:
        self._session.waiter = waiter
        yield from ()

    def leave(self, waiter: "WaitingFetch") -> None:
        if self._session.waiter is waiter:
            self._session.waiter = None


def _rights(broker: "Broker") -> int:
    """Return a number that changes when the rights of a client may have changed."""
    authorizer = broker.authorizer
    return -1 if authorizer is None else authorizer.epoch


def _count(connection: "Connection[Broker]", key: TopicKey, size_bytes: int) -> None:
    topic = find_topic(connection.broker, key)
    if topic is not None and size_bytes:
        topic.fetched_bytes += size_bytes
        connection.activity.note_read(topic.name)


class FetchSessions:
    """The sessions of a broker, the one used last at the end."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._sessions: dict[int, FetchSession] = {}
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def plan(
        self, connection: "Connection[Broker]", request: FetchRequest, *, by_id: bool
    ) -> WholeFetch | SessionFetch | Response:
        """Return how to serve a request, or the answer that refuses it."""
        epoch = request.session_epoch
        session = self._sessions.get(request.session_id)
        if session is not None and session.client.principal != connection.identity.principal:
            session = None  # An id can be guessed: a session belongs to the user who began it.
        if epoch in {_BEGIN, _END}:
            if session is not None:
                self.remove(session.id)
            return WholeFetch(connection, request, begins=epoch == _BEGIN, by_id=by_id)
        if session is None:
            return Response(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])
        if session.by_id != by_id:
            return Response(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0, [])
        if session.epoch != epoch:
            return Response(ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, [])
        if not self._has_room(request, len(session.partitions)):
            self.remove(session.id)
            return Response(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])
        session.used_at = self._broker.clock.monotonic()
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        if session.waiter is not None:
            session.waiter.expire()
        self._sessions[session.id] = self._sessions.pop(session.id)
        return SessionFetch(connection, session, request)

    def begin(
        self, request: FetchRequest, fetched: Fetched, client: "Identity", *, by_id: bool
    ) -> Generator[None, None, int]:
        """Begin a session of what was just answered, in steps; return its id, 0 if none is free."""
        now = self._broker.clock.monotonic()
        size = sum(len(partitions) for _, partitions in request.topics)
        if not (self._has_room(request) and self._make_place(size, now)):
            return 0
        session = FetchSession(self._broker, 0, now, client, by_id=by_id)
        # There is nothing yet to forget.
        yield from session.update(request._replace(forgotten=[]))
        left = PARTITIONS_A_STEP
        for key, results in fetched.results:
            for result in results:
                session.partitions[key, result.partition].answered(result)
                left -= 1
                if left < 0:
                    left = PARTITIONS_A_STEP
                    yield
        while not session.id or session.id in self._sessions:
            session.id = random.randrange(1, 2**31)  # noqa: S311 - unique, not secret
        self._sessions[session.id] = session
        return session.id

    def _has_room(self, request: FetchRequest, size: int = 0) -> bool:
        """Return whether a session of `size` partitions may have those of the request, too."""
        more = sum(len(partitions) for _, partitions in request.topics)
        return size + more < _SMALL or self.partitions_count + more <= PARTITIONS_MAX

    def _make_place(self, size: int, now: float) -> bool:
        slots = self._broker.settings.integer("max.incremental.fetch.session.cache.slots")
        if len(self._sessions) < slots:
            return True
        if not self._sessions:
            return False
        victim = next(iter(self._sessions.values()))
        if now - victim.used_at <= EVICTION_S:
            old = [s for s in self._sessions.values() if now - s.created_at > EVICTION_S]
            smallest = min(old, key=lambda session: len(session.partitions), default=None)
            if smallest is None or len(smallest.partitions) > size:
                return False
            victim = smallest
        self.remove(victim.id)
        self.evicted += 1
        return True

    def remove(self, session_id: int) -> None:
        """Forget a session, if there is one of this id."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()
