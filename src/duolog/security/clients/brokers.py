"""The brokers of a cluster, and the settings of clients that connect to them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from duolog.core.addresses import whole_servers
from duolog.security.clients.client_security import ClientSecurity

_NONE: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True)
class Brokers:
    """Addresses of brokers, with the security and other properties of every client.

    As text it is the addresses, for messages. Functions that connect take it, or only addresses as
    a text: `of` converts both.
    """

    servers: str
    security: ClientSecurity | None = None
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.servers

    @classmethod
    def of(cls, given: "Brokers | str") -> "Brokers":
        """Return `given`; addresses without ports get the default port.

        Raises:
            ConfigError: an address is invalid.
        """
        return given if isinstance(given, Brokers) else cls(whole_servers(given))

    def client(self, settings: Mapping[str, object] = _NONE) -> dict[str, Any]:
        """Return a client's settings by librdkafka's names; `settings` are its own.

        The result has secrets: pass it to a client, and to nothing else.
        """
        security = {} if self.security is None else self.security.librdkafka()
        return {**dict(self.properties), **settings, **security, "bootstrap.servers": self.servers}

    def to_json(self) -> dict[str, Any]:
        """Return it for another process of ours; the result has secrets."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Brokers":
        """Read the result of `to_json`.

        Raises:
            KeyError, TypeError: it has another form.
        """
        security, properties = found["security"], found["properties"]
        return cls(
            found["servers"],
            None if security is None else ClientSecurity.from_json(security),
            tuple((name, value) for name, value in properties),
        )
