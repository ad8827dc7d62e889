"""Choose the connection that is closed to make room for a new one.

    kinds      the kind with the most connections, such as those that have not sent a request
    hosts      of that kind, the host with the most
    oldest     of that host, the one that has been of this kind for longest

A hostile client that fills a server therefore evicts its own connections first: those of a kind or
of a host that has few stay. A host never evicts a connection of another one that has as few as
itself, whatever these do: then the new one is refused. All steps take constant time, also with one
connection for each host.

Threads: one at a time.
Source: B. Suter et al., "Buffer management schemes for supporting TCP in gigabit routers with
per-flow queueing", IEEE JSAC, 1999 (longest queue drop).
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
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
    """Open connections; those that may be closed to make room have a kind.

    Example:
        >>> some = Evictable[str, str]()
        >>> for connection in "abc":
        ...     some.open(connection, "x")
        >>> some.set("a", "silent")
        >>> some.set("b", "silent")
        >>> some.set("c", "waits")
        >>> some.for_new("x")
        'a'
        >>> some.close("a")
        >>> some.set("b", "waits")
        >>> some.for_new("x"), some.for_new("y")
        ('c', 'c')
        >>> some.open("d", "y"), some.open("e", "y"), some.for_new("y")
        (None, None, None)
    """

    def __init__(self) -> None:
        self._host_of: dict[Connection, str] = {}
        self._open: Counter[str] = Counter()
        self._kinds: dict[Kind, ByHost[Connection]] = {}
        self._kind_of: dict[Connection, Kind] = {}

    def __len__(self) -> int:
        return len(self._host_of)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._host_of

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._host_of))

    def open(self, connection: Connection, host: str) -> None:
        """Add a connection, which may not be closed."""
        self._host_of[connection] = host
        self._open[host] += 1

    def close(self, connection: Connection) -> None:
        """Forget a connection, if it is there."""
        self.keep(connection)
        host = self._host_of.pop(connection, None)
        if host is None:
            return
        self._open[host] -= 1
        if not self._open[host]:
            del self._open[host]

    def set(self, connection: Connection, kind: Kind) -> None:
        """Allow to close an open connection; it is the newest of its kind and host."""
        self.keep(connection)
        host = self._host_of.get(connection)
        if host is not None:
            self._kind_of[connection] = kind
            self._kinds.setdefault(kind, ByHost()).add(connection, host)

    def keep(self, connection: Connection) -> None:
        """Do not allow to close a connection: the server works for it."""
        kind = self._kind_of.pop(connection, None)
        if kind is not None:
            self._kinds[kind].discard(connection)

    def for_new(self, host: str) -> Connection | None:
        """Return the connection to close for a new one of a host; None if that is to be refused."""
        found = self.next()
        if found is None:
            return None
        other = self._host_of[found]
        return found if other == host or self._open[host] < self._open[other] else None

    def next(self, *kinds: Kind) -> Connection | None:
        """Return the connection to close, of some kinds or of any; None if there are none."""
        some = [self._kinds[kind] for kind in kinds or self._kinds if kind in self._kinds]
        return max(some, key=len).next() if some else None
