"""Requests to single brokers of a cluster, such as the coordinators of groups.

Connections stay open for the next request. The version is the newest one that both sides know.

Threads: any; the requests to one broker wait for each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import Any, Final, Protocol

from duolog.core.errors import KafkaError
from duolog.runtime.administration.wire import Wire
from duolog.runtime.consumer_groups.metadata import Metadata, read_metadata
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.renewed_admin import RenewedAdmin
from duolog.security.clients.brokers import Brokers

_API_VERSIONS: Final = (18, 0)
_TRANSPORT: Final = -195
_UNSUPPORTED_VERSION: Final = 35


class Connection(Protocol):
    """A connection to one broker; `Wire` is one."""

    def ask(self, key: int, version: int, /, **fields: Any) -> Any: ...
    def __exit__(
        self,
        type_: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


@dataclass(slots=True)
class _Node:
    """The connection to a broker, if it is open, and the newest versions that it serves."""

    lock: Lock = field(default_factory=Lock)
    connection: Connection | None = None
    newest: Mapping[int, int] = field(default_factory=dict)

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.__exit__(None, None, None)


class Connections:
    """Connections to the brokers of one cluster.

    Args:
        brokers: addresses of some of them, and the login.
        connect: opens a connection.
    """

    def __init__(self, brokers: Brokers, connect: Callable[[Brokers], Connection] = Wire) -> None:
        self._brokers = brokers
        self._connect = connect
        self._nodes: dict[str, _Node] = {}
        self._lock = Lock()

    @cached_property
    def admin(self) -> RenewedAdmin:
        """A client for what every broker may answer; it connects with the first question."""
        return RenewedAdmin(self._brokers)

    def metadata(self) -> Metadata:
        """Return brokers and leaders; raises as `read_metadata`."""
        return read_metadata(self.admin)

    def serves(self, address: str, key: int, version: int = 0) -> bool:
        """Return whether a broker serves this version of an API; raises as `ask`."""
        with self._opened(address) as node:
            return node.newest.get(key, -1) >= version

    def ask(self, address: str, key: int, newest: int, /, **fields: Any) -> Any:
        """Send a request to a broker, and return the response as kio's entity.

        Args:
            address: that of the broker.
            key: the API.
            newest: the newest version of it that the caller knows.
            fields: the fields of the request; those that its version lacks are left out.

        Raises:
            KafkaError: the broker does not serve the API, or refuses the login.
            BrokerUnavailable: it cannot be reached.
        """
        with self._opened(address) as node:
            assert node.connection is not None
            if key not in node.newest:
                raise KafkaError(
                    f"the broker at {address} does not serve this request",
                    code=_UNSUPPORTED_VERSION,
                    detail=f"API key {key}",
                )
            return node.connection.ask(key, min(newest, node.newest[key]), **fields)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            nodes, self._nodes = self._nodes, {}
        for node in nodes.values():
            with node.lock:
                node.close()

    def _opened(self, address: str) -> "_Use":
        with self._lock:
            node = self._nodes.setdefault(address, _Node())
        return _Use(node, lambda: self._open(node, address))

    def _open(self, node: _Node, address: str) -> None:
        try:
            connection = self._connect(replace(self._brokers, servers=address))
        except KafkaError as error:
            if error.code != _TRANSPORT:
                raise
            raise BrokerUnavailable(error.message, detail=error.detail, hint=error.hint) from error
        node.connection = connection
        answer = connection.ask(*_API_VERSIONS)
        node.newest = {row.api_key: row.max_version for row in answer.api_keys}


class _Use:
    """The use of a connection by one thread; after an error it is closed.

    A broker closes idle connections: one that was kept is checked first, by asking for the
    versions again, which costs less than a millisecond.
    """

    def __init__(self, node: _Node, open_node: Callable[[], None]) -> None:
        self._node = node
        self._open = open_node

    def __enter__(self) -> _Node:
        node = self._node
        node.lock.acquire()
        try:
            if node.connection is not None:
                try:
                    node.connection.ask(*_API_VERSIONS)
                except KafkaError:
                    node.close()
            if node.connection is None:
                self._open()
        except BaseException:
            node.close()
            node.lock.release()
            raise
        return node

    def __exit__(
        self,
        type_: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if type_ is not None:
            self._node.close()  # Half a response may be left on it.
        self._node.lock.release()
