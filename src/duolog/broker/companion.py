"""A server that a broker runs next to itself, whose client it is: the schema registry.

    no authorizer, a listener PLAINTEXT   it connects there, as any client may
    an authorizer                         it connects to a listener of its own, `inner`: loopback,
                                          a free port, and a login that exists in memory only

So it works next to listeners that ask for passwords or certificates, and needs neither.

Without an authorizer, and with only listeners that ask for passwords or certificates, the start is
refused. A registry without users would let clients change schemas that may not even connect to the
broker; and one with the users of the cluster cannot read them, because no client may read
`__security` while there are no rights to protect it.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from duolog.broker.network.endpoints import PLAINTEXT, SASL_PLAINTEXT, OpenEndpoint
from duolog.core.errors import ConfigError
from duolog.core.listening import LOOPBACK, Address, open_listener
from duolog.security.logins.inner import INNER_LISTENER, SECRET_BYTES, InnerLogin

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings


class Companion(Protocol):
    """A server that runs as long as the broker, whose client it is."""

    def start(
        self,
        bootstrap_servers: str,
        failed: Callable[[], None],
        login: InnerLogin | None = None,
    ) -> None:
        """Start it, without waiting for it; it calls `failed` if the broker should stop.

        With a `login`, it logs in at that address, and takes its users from the broker.
        """

    def stop(self) -> None:
        """Stop it and wait for its end; the broker still serves."""


class Beside(NamedTuple):
    """A companion, the listener that it connects to, and its login there, if it needs one."""

    companion: Companion
    endpoint: OpenEndpoint
    login: InnerLogin | None = None

    def start(self, failed: Callable[[], None]) -> None:
        """Start the companion; see `Companion.start`."""
        self.companion.start(str(self.endpoint.bound), failed, self.login)


def beside(
    companion: Companion, listeners: Sequence[OpenEndpoint], settings: "BrokerSettings"
) -> Beside:
    """Return a companion with its listener, which is opened if there is a login.

    Raises:
        ConfigError: no client without certificates and passwords can connect, and there is no
            authorizer to protect the users that a registry would need.
    """
    if settings.text("authorizer.class.name"):
        listening = open_listener(Address(LOOPBACK, 0), insecure=False)
        told = Address(*listening.getsockname()[:2])
        inner = OpenEndpoint(INNER_LISTENER, listening, told, SASL_PLAINTEXT, "inner listener")
        return Beside(companion, inner, InnerLogin(secrets.token_urlsafe(SECRET_BYTES)))
    for row in listeners:
        if row.protocol == PLAINTEXT:
            return Beside(companion, row)
    raise ConfigError(
        "the schema registry of this broker has no listener to connect to",
        name="registry",
        detail="All listeners ask for logins or use TLS, and there is no authorizer.",
        hint="Set authorizer.class.name=acl: the registry then takes users and rights from the "
        f"broker. Or add a listener {PLAINTEXT}://127.0.0.1:PORT.",
    )
