"""Users, rights and logins of one broker.

settings ─▶ authorizer, mechanisms        `__security` ─▶ state ─▶ both
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from duolog.broker.identity.audit import Audit
from duolog.broker.identity.logins import Logins
from duolog.broker.identity.mechanisms import Mechanisms
from duolog.broker.identity.security_log import Done, SecurityLog, check_client_batch
from duolog.broker.identity.security_settings import ISSUER_SETTINGS, super_users
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC, AclAuthorizer
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.records.records import Change, DecoyChange
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState

if TYPE_CHECKING:
    from duolog.broker.identity.jwks import Issuer
    from duolog.broker.identity.needs import Broker
    from duolog.security.identity.principal import Identity

_SECRET_BYTES: Final = 32


class SecurityService:
    """Users, rights and logins."""

    def __init__(self, broker: "Broker", mechanisms: tuple[str, ...]) -> None:
        settings = broker.settings
        self.state = SecurityState()
        self.audit = Audit(broker.clock)
        self.authorizer: AclAuthorizer | None = None
        if settings.text("authorizer.class.name"):
            self.authorizer = AclAuthorizer(
                self.state.acls,
                super_users=(*super_users(settings.text("super.users")), ADMINISTRATORS),
                everyone_if_no_acl=settings.boolean("allow.everyone.if.no.acl.found"),
                on_refusal=self.audit.denied,
            )
        self._log = SecurityLog(broker, self.state)
        self._issuer = _issuer(broker)
        self.logins = Logins(
            broker,
            Mechanisms(
                self.state,
                mechanisms,
                broker.clock.now_ms,
                None if self._issuer is None else self._issuer.verify,
            ),
            self.audit,
        )

    def load(self) -> None:
        """Replay the topic, before the broker listens.

        Raises:
            LogError: it cannot be read.
        """
        self._log.load()

    def start(self) -> None:
        """Load the keys of the issuer of tokens, if there is one.

        Raises:
            ConfigError: they are in a file that cannot be used.
        """
        if self._issuer is not None:
            self._issuer.start()

    def append(self, client: "Identity", changes: Sequence[Change], done: Done) -> None:
        """Append changes of a client; `done` is called when they are durable and count."""

        def on_durable(error: Exception | None) -> None:
            if error is None:
                self.audit.changed(client, changes)
            done(error)

        wanted = list(changes)
        if wanted and self.state.decoy_secret is None:
            # With the first change, so that unknown users look the same after a restart.
            wanted.append(DecoyChange(secrets.token_bytes(_SECRET_BYTES)))
        self._log.append(wanted, on_durable)

    def refusal(self, client: "Identity") -> ErrorCode:
        """Return the error for a client that may not append to the topic itself, or NONE."""
        authorizer = self.authorizer
        if authorizer and authorizer.allows(
            client, Operation.WRITE, ResourceType.TOPIC, SECURITY_TOPIC
        ):
            return ErrorCode.NONE
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def check_client_batch(self, client: "Identity", batch: memoryview) -> None:
        """Return if a client may append a batch to the topic; the audit log then has it.

        Raises:
            KafkaError: a record is malformed, or clients may not append it.
        """
        self.audit.changed(client, check_client_batch(batch))

    def close(self) -> None:
        """End the threads."""
        self.logins.close()


def _issuer(broker: "Broker") -> "Issuer | None":
    """Return what verifies the tokens of the configured issuer, if there is one."""
    if not any(broker.settings.text(name) for name in ISSUER_SETTINGS):
        return None
    # Loaded here: other brokers need no JSON Web Tokens.
    from duolog.broker.identity.jwks import Issuer, rules_of  # noqa: PLC0415

    rules = rules_of(broker.settings)
    assert rules is not None
    return Issuer(broker.settings, rules, broker.clock, broker.loop)
