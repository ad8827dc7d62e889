"""Choose the connection that is closed to make room for a new one.

    kinds      the kind with the most connections, such as those that have not sent a request
    hosts      of that kind, the host with the most
    oldest     of that host, the one that has been of this kind for longest

A hostile client that fills a server therefore evicts its own connections first: those of a kind or
of a host that has few stay. All steps take constant time, also with one connection for each host.

Threads: one at a time.
Source: B. Suter et al., "Buffer management schemes for supporting TCP in gigabit routers with
per-flow queueing", IEEE JSAC, 1999 (longest queue drop).
"""

from collections import OrderedDict
from typing import Generic, TypeVar

Connection = TypeVar("Connection")
Kind = TypeVar("Kind")


class ByHost(Generic[Connection]):
    """Connections of one kind, by host and age.

    Example:
        >>> some = ByHost[str]()
        >>> for connection, host in (("a", "x"), ("b", "y"), ("c", "y")):
        ...     some.add(connection, host)
        >>> some.next()
        'b'
        >>> some.discard("b")
        >>> some.next(), len(some)
        ('a', 2)
    """

    def __init__(self) -> None:
        self._host_of: dict[Connection, str] = {}
        self._by_host: dict[str, OrderedDict[Connection, None]] = {}
        self._by_count: dict[int, OrderedDict[str, None]] = {}
        """The hosts with exactly this number of connections."""
        self._most = 0
        """The largest number of one host."""

    def __len__(self) -> int:
        return len(self._host_of)

    def add(self, connection: Connection, host: str) -> None:
        """Add a connection as the newest of its host."""
        self._host_of[connection] = host
        of_host = self._by_host.setdefault(host, OrderedDict())
        of_host[connection] = None
        self._move(host, len(of_host) - 1, len(of_host))

    def discard(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        host = self._host_of.pop(connection, None)
        if host is None:
            return
        of_host = self._by_host[host]
        del of_host[connection]
        self._move(host, len(of_host) + 1, len(of_host))
        if not of_host:
            del self._by_host[host]

    def next(self) -> Connection | None:
        """Return the oldest connection of the host with the most; None if there are none."""
        if not self._most:
            return None
        host = next(iter(self._by_count[self._most]))
        return next(iter(self._by_host[host]))

    def _move(self, host: str, before: int, after: int) -> None:
        if before:
            hosts = self._by_count[before]
            del hosts[host]
            if not hosts:
                del self._by_count[before]
        if after:
            self._by_count.setdefault(after, OrderedDict())[host] = None
        # A change is by one: the next smaller number is that of this host, or there is none.
        self._most = max(self._most, after) if self._most in self._by_count else after


class Evictable(Generic[Connection, Kind]):
    """Connections that may be closed to make room, each of one kind.

    Example:
        >>> some = Evictable[str, str]()
        >>> some.set("a", "silent", host="x")
        >>> some.set("b", "silent", host="x")
        >>> some.set("c", "waits", host="x")
        >>> some.next()
        'a'
        >>> some.discard("a")
        >>> some.set("b", "waits", host="x")
        >>> some.next()
        'c'
    """

    def __init__(self) -> None:
        self._kinds: dict[Kind, ByHost[Connection]] = {}
        self._kind_of: dict[Connection, Kind] = {}

    def __len__(self) -> int:
        return len(self._kind_of)

    def set(self, connection: Connection, kind: Kind, *, host: str) -> None:
        """Note the kind of a connection from now on, as the newest of its kind and host."""
        self.discard(connection)
        self._kind_of[connection] = kind
        self._kinds.setdefault(kind, ByHost()).add(connection, host)

    def discard(self, connection: Connection) -> None:
        """Forget a connection, if it is there: it is busy, or closed."""
        kind = self._kind_of.pop(connection, None)
        if kind is not None:
            self._kinds[kind].discard(connection)

    def next(self, *kinds: Kind) -> Connection | None:
        """Return the connection to close, of some kinds or of any; None if there are none."""
        some = [self._kinds[kind] for kind in kinds or self._kinds if kind in self._kinds]
        return max(some, key=len).next() if some else None
