"""The interfaces that connections need of the broker, and the broker of connections."""

from typing import TYPE_CHECKING, Protocol, TypeVar

from duolog.broker.requests import needs

if TYPE_CHECKING:
    import socket

    from duolog.broker.event_loop.loop import Loop
    from duolog.broker.network.connection_quotas import ConnectionQuotas, OpenConnection
    from duolog.broker.network.request_memory import RequestMemory
    from duolog.broker.router import Entrances, Router
    from duolog.broker.settings import BrokerSettings
    from duolog.core.listening import Address
    from duolog.log.files.spare_descriptors import SpareDescriptors
    from duolog.security.identity.principal import Identity


class Flushable(Protocol):
    """A connection with responses that may be next in order."""

    def flush(self) -> None:
        """Send them, then handle the frames that had to wait."""


class Broker(needs.Broker, Protocol):
    """The broker, as listeners and connections see it."""

    advertised: tuple[str, int]
    connections: "ConnectionQuotas"
    connections_to_flush: list[Flushable]
    entrances: "Entrances"
    frame_bytes_max: int
    loop: "Loop"
    router: "Router"
    settings: "BrokerSettings"
    spare_descriptors: "SpareDescriptors"

    @property
    def request_memory(self) -> "RequestMemory": ...
    def make_connection(
        self, accepted: "socket.socket", address: str, advertised: "Address", listener: str
    ) -> "OpenConnection":
        """Serve a client that was accepted."""

    def note_login(
        self, client: "Identity", mechanism: str, listener: str, reason: str = ""
    ) -> None:
        """Write a login to the audit log; with a reason, it failed."""


B_co = TypeVar("B_co", bound=Broker, covariant=True)
