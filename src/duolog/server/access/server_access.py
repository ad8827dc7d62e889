"""The users of one server: none, or those of the cluster.

load ─▶ start on the loop ─▶ authentication of requests ─▶ stop

The users of the cluster are replayed from its topic, as the registry does it (ADR 0127).
"""

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.clock import Clock
from duolog.registry.access.server_access import ClusterAccess
from duolog.server.access.authentication import (
    Authentication,
    NoAuthentication,
    UserAuthentication,
)
from duolog.server.access.sessions import Sessions

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.store.clients import KafkaOptions

LISTENER: Final = "server"
"""The name of the server in the audit log."""


class ServerAccess(Protocol):
    """Users, and what follows them."""

    authentication: Authentication
    sessions: Sessions | None
    """None if there are no users."""

    def load(self) -> None:
        """Read the users.

        Raises:
            KafkaError: they cannot be read.
        """

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow changes from now on."""

    def stop(self) -> None:
        """End the threads."""


class OpenAccess:
    """No users: every client may do everything."""

    def __init__(self) -> None:
        self.authentication: Authentication = NoAuthentication()
        self.sessions: Sessions | None = None

    def load(self) -> None:
        """Do nothing: there are no users."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing, as `load`."""

    def stop(self) -> None:
        """Do nothing, as `load`."""


class UserAccess:
    """The users, tokens and rights of the cluster, see `duolog.registry.access.cluster_users`."""

    def __init__(self, kafka: "KafkaOptions", settings: "AccessSettings", clock: Clock) -> None:
        self._cluster = cluster = ClusterAccess(kafka, settings, listener=LISTENER)
        self.sessions: Sessions | None = Sessions(clock, self._moment)
        self.authentication: Authentication = UserAuthentication(
            cluster.authenticator, lambda: cluster.users.authorizer, self.sessions
        )

    def load(self) -> None:
        """Read the topic of users; see `ClusterUsers.load` for errors."""
        self._cluster.load()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow changes from now on; see `ClusterAccess.start` for errors."""
        self._cluster.start(loop)

    def stop(self) -> None:
        """End the threads."""
        self._cluster.stop()

    def _moment(self) -> object:
        mechanisms = self._cluster.users.mechanisms
        return mechanisms, mechanisms.users_epoch
