"""The clients of a broker: of open connections, and of connections closed in the last minutes.

A connection counts its requests and bytes, and notes the topics that it writes and reads. Nothing
is summed up or sorted before an administrator asks.

Threads: the event loop's.
"""

from collections import deque
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from duolog.core.clock import Clock
    from duolog.security.identity.principal import Identity

NAME_MAX: Final = 255
"""Bytes of a client id that are kept; a request may have 32 KiB."""
TOPICS_MAX: Final = 100
"""Topics that a connection notes; above this, older ones are forgotten."""
_LATELY_S: Final = 300.0
_CLOSED_S: Final = 900.0
_CLOSED_MAX: Final = 1_000
_OPEN: Final = -1
"""In place of the time when a connection was closed."""


class SentBytes(Protocol):
    """The queue of a connection."""

    sent_bytes: int


class Activity:
    """The part of a connection that reports who the client is, and what it does.

    Attributes:
        client_id: as in the first request.
        software_name, software_version: as in ApiVersions (KIP-511); empty if not sent.
        queue: counts the bytes that were sent.
        requests: requests so far.
        last_request_s: the time of the last one, by the monotonic clock.
        written, read: when a record of a topic was last written or read, by topic.
    """

    __slots__ = (
        "client_id",
        "connected_s",
        "last_request_s",
        "queue",
        "read",
        "requests",
        "software_name",
        "software_version",
        "written",
    )

    def __init__(self, now_s: float, queue: SentBytes) -> None:
        self.queue = queue
        self.client_id = ""
        self.software_name = ""
        self.software_version = ""
        self.connected_s = self.last_request_s = now_s
        self.requests = 0
        self.written: dict[str, float] = {}
        self.read: dict[str, float] = {}

    def came(self, view: memoryview, start: int, now_s: float) -> float:
        """Note that bytes of requests have come, which begin at `start`; return `now_s`."""
        self.last_request_s = now_s
        if not self.requests:  # The header of the first request; see `protocol.headers`.
            size = max(0, int.from_bytes(view[start + 12 : start + 14], signed=True))
            name = view[start + 14 : start + 14 + min(size, NAME_MAX)]
            self.client_id = bytes(name).decode("utf-8", "replace")
        return now_s

    def note_written(self, topic: str) -> None:
        """Note that the client has written a record."""
        _note(self.written, topic, self.last_request_s)

    def note_read(self, topic: str) -> None:
        """Note that records of a topic are sent to the client."""
        _note(self.read, topic, self.last_request_s)


def _note(topics: dict[str, float], topic: str, at_s: float) -> None:
    """Note the use of a topic; the number of names is bounded."""
    if len(topics) >= TOPICS_MAX and topic not in topics:
        topics.clear()
    topics[topic] = at_s


class Followed(Protocol):
    """The interface that `Clients` needs of a connection."""

    address: str
    listener: str
    identity: "Identity"
    activity: Activity
    received_bytes: int
    on_close: "list[Callable[[], None]]"


class SeenClient:
    """A connection, open or closed."""

    __slots__ = (
        "activity",
        "address",
        "closed_s",
        "connection",
        "listener",
        "number",
        "received_bytes",
        "sent_bytes",
        "user",
    )

    def __init__(self, number: int, connection: Followed) -> None:
        self.number = number
        self.connection: Followed | None = connection
        self.closed_s: float | None = None
        self.activity = connection.activity
        self.address = connection.address
        self.listener = connection.listener
        self.user = ""
        self.received_bytes = self.sent_bytes = 0

    @property
    def last_request_s(self) -> float:
        """The time of the last request, by the monotonic clock."""
        return self.activity.last_request_s

    def take(self) -> None:
        """Copy what the connection counts."""
        connection = self.connection
        if connection is not None:
            self.user = str(connection.identity.principal)
            self.received_bytes = connection.received_bytes
            self.sent_bytes = self.activity.queue.sent_bytes

    def close(self, now_s: float) -> None:
        """Keep the counts, and let the connection go."""
        self.take()
        self.connection = None
        self.closed_s = now_s

    def described(self, clock: "Clock") -> Mapping[str, object]:
        """Return the fields of `DescribedClient`; times are in ms since 1970."""
        self.take()
        activity, now_s, now_ms = self.activity, clock.monotonic(), clock.now_ms()

        def at_ms(at_s: float) -> int:
            return now_ms - round((now_s - at_s) * SECOND_MS)

        def lately(topics: Mapping[str, float]) -> list[str]:
            return sorted(name for name, at_s in topics.items() if now_s - at_s <= _LATELY_S)

        return {
            "id": self.number,
            "client_id": activity.client_id,
            "software_name": activity.software_name,
            "software_version": activity.software_version,
            "address": self.address,
            "listener": self.listener,
            "user": self.user,
            "connected_ms": at_ms(activity.connected_s),
            "last_request_ms": at_ms(activity.last_request_s),
            "closed_ms": _OPEN if self.closed_s is None else at_ms(self.closed_s),
            "requests": activity.requests,
            "bytes_in": self.received_bytes,
            "bytes_out": self.sent_bytes,
            "written": lately(activity.written),
            "read": lately(activity.read),
        }


class Clients:
    """The clients of a broker."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._open: dict[int, SeenClient] = {}
        self._closed: deque[SeenClient] = deque(maxlen=_CLOSED_MAX)
        self._last = 0

    def follow(self, connection: Followed) -> None:
        """Follow a new connection until it is closed."""
        self._last += 1
        client = self._open[self._last] = SeenClient(self._last, connection)

        def closed() -> None:
            del self._open[client.number]
            client.close(self._clock.monotonic())
            # A port scan must not drive out the clients that were here.
            if client.activity.requests:
                self._closed.append(client)

        connection.on_close.append(closed)

    def latest(self, now_s: float) -> list[SeenClient]:
        """Return open clients and those closed lately, the newest request first."""
        while self._closed and now_s - (self._closed[0].closed_s or 0.0) > _CLOSED_S:
            self._closed.popleft()
        found = [*self._open.values(), *self._closed]
        return sorted(found, key=attrgetter("last_request_s"), reverse=True)
