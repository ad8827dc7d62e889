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
    TokenAuthentication,
    UserAuthentication,
)
from duolog.server.access.sessions import Sessions

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.store.clients import KafkaOptions
    from duolog.server.access.console_token import ConsoleToken

LISTENER: Final = "server"
"""The name of the server in the audit log."""


class ServerAccess(Protocol):
    """Users, and what follows them."""

    authentication: Authentication
    sessions: Sessions | None
    """None if there are no users."""
    console_token: "ConsoleToken | None"
    """What opens the console if there are no users; None if there are."""

    @property
    def cookie_scope(self) -> str:
        """A text that keeps this server's cookies apart from others, see `session_cookie`."""

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
    """No users: every client may do everything, but the console's routes need its token."""

    def __init__(self, token: "ConsoleToken | None" = None) -> None:
        self.authentication: Authentication = (
            NoAuthentication() if token is None else TokenAuthentication(token)
        )
        self.sessions: Sessions | None = None
        self.console_token = token

    @property
    def cookie_scope(self) -> str:
        """That of the token, which survives a restart as the cookies do."""
        return "" if self.console_token is None else self.console_token.scope

    def load(self) -> None:
        """Do nothing: there are no users."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing, as `load`."""

    def stop(self) -> None:
        """Do nothing, as `load`."""


class UserAccess:
    """The users, tokens and rights of the cluster, see `duolog.registry.access.cluster_users`.

    Args:
        address: that of this server for others: its sessions end with it.
    """

    def __init__(
        self, kafka: "KafkaOptions", settings: "AccessSettings", clock: Clock, address: str = ""
    ) -> None:
        self.cookie_scope = address
        self._cluster = cluster = ClusterAccess(kafka, settings, listener=LISTENER)
        self.console_token: ConsoleToken | None = None
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

    def _moment(self, user: str) -> object:
        mechanisms = self._cluster.users.mechanisms
        return mechanisms, mechanisms.epoch_of(user)
