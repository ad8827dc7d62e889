"""The users of one registry: none, those of a file, or those of the cluster.

load ─▶ start on the loop ─▶ authentication of requests ─▶ stop
"""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.registry.access.authentication import (
    Authentication,
    BasicAuthentication,
    ClusterAuthentication,
    NoAuthentication,
)
from duolog.registry.access.cluster_users import ClusterUsers
from duolog.registry.access.users import read_users
from duolog.registry.json_text import Json
from duolog.security.logins.audit import Audit
from duolog.security.logins.authenticator import StoreAuthenticator
from duolog.security.logins.login_limits import LoginLimits
from duolog.security.sasl.bearer_exchange import InvalidToken

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings
    from duolog.registry.store.clients import KafkaOptions
    from duolog.security.identity.principal import Principal
    from duolog.security.logins.inner import InnerLogin
    from duolog.security.logins.jwks import Issuer

logger = logging.getLogger(__name__)

LISTENER: Final = "registry"
"""The name of the registry in the audit log."""


class FileAccess:
    """Users of a file, or none without a file."""

    def __init__(self, users: Path | None) -> None:
        """Read the file.

        Raises:
            ConfigError: it cannot be used.
        """
        self._users = users
        self.authentication: Authentication = NoAuthentication()
        self._basic: BasicAuthentication | None = None
        if users is not None:
            self.authentication = self._basic = BasicAuthentication(read_users(users))

    @property
    def authenticates(self) -> bool:
        return self._basic is not None

    @property
    def reloads(self) -> bool:
        """True if `reload` reads something."""
        return self._basic is not None

    def load(self) -> None:
        """Do nothing: the file was read when this was made."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing: the file is read again on a signal only."""

    def status(self) -> Json:
        """Return where users are from, for operators."""
        return {"source": "none" if self._basic is None else "file"}

    async def reload(self) -> None:
        """Read the file again; one with an error changes nothing."""
        if self._basic is None or self._users is None:
            return
        try:
            loop = asyncio.get_running_loop()
            accounts = await loop.run_in_executor(None, read_users, self._users)
        except ConfigError as error:
            logger.warning("kept the users as they were", extra={"reason": error.one_line()})
        else:
            self._basic.replace(accounts)
            logger.info("read the users again", extra={"users": len(accounts)})

    def stop(self) -> None:
        """End the threads."""
        if self._basic is not None:
            self._basic.close()


class ClusterAccess:
    """Users, rights and tokens of the cluster."""

    authenticates: Final = True
    reloads: Final = False

    def __init__(
        self,
        kafka: "KafkaOptions",
        settings: "AccessSettings",
        inner: "InnerLogin | None" = None,
        *,
        listener: str = LISTENER,
    ) -> None:
        """Prepare; `inner` is the login of the broker that runs this registry.

        `listener` names the server in the audit log.
        """
        self._settings = settings
        self._clock = SystemClock()
        audit = Audit(self._clock)
        self.users = ClusterUsers(kafka, settings, self._clock, audit, verify_jwt=self._verify_jwt)
        self.authenticator = StoreAuthenticator(
            lambda: self.users.mechanisms, LoginLimits(self._clock), audit, self._clock, listener
        )
        self.authentication: Authentication = ClusterAuthentication(
            self.authenticator, lambda: self.users.authorizer, inner
        )
        self._issuer: Issuer | None = None

    def load(self) -> None:
        """Read the topic of users; see `ClusterUsers.load`."""
        self.users.load()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow changes from now on.

        Raises:
            ConfigError: the keys of an issuer are in a file that cannot be used.
        """
        rules = self._settings.issuer_rules
        if rules is not None:
            # Loaded here: other registries need no JSON Web Tokens.
            from duolog.security.logins.jwks import Issuer  # noqa: PLC0415

            self._issuer = Issuer(self._settings, rules, self._clock, loop)
            self._issuer.start()
        self.users.start(loop)

    def status(self) -> Json:
        """Return how old users and rights can be, for operators."""
        reachable = self.users.reachable
        return {
            "source": "cluster",
            "reachable": reachable,
            "ageMs": 0 if reachable else round(self.users.age_s * 1000),
        }

    async def reload(self) -> None:
        """Do nothing: changes are followed."""

    def stop(self) -> None:
        """End the threads."""
        self.authenticator.close()
        self.users.stop()

    def _verify_jwt(self, text: str) -> "tuple[Principal, int | None]":
        if self._issuer is None:
            raise InvalidToken("token is not one of this server, and no issuer is configured")
        return self._issuer.verify(text)


ServerAccess = FileAccess | ClusterAccess
