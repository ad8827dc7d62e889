"""Users, rights and logins of one broker.

settings ─▶ authorizer, mechanisms        `__security` ─▶ state ─▶ both
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from duolog.broker.identity.audit_topic import AuditTopic, BrokerAudit
from duolog.broker.identity.listener_issuers import ListenerIssuers
from duolog.broker.identity.logins import Logins
from duolog.broker.identity.security_log import Done, SecurityLog, check_client_batch
from duolog.broker.identity.security_settings import EnabledMechanisms
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC, AclAuthorizer
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.authorization.super_users import super_users
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.inner import INNER_PRINCIPAL, InnerExchanges
from duolog.security.logins.mechanisms import Mechanisms
from duolog.security.records.records import Change, DecoyChange
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.security.state.security_state import ADMINISTRATORS, SecurityState

if TYPE_CHECKING:
    from duolog.broker.identity.needs import Broker
    from duolog.security.logins.inner import InnerLogin

_SECRET_BYTES: Final = 32


class SecurityService:
    """Users, rights and logins."""

    def __init__(self, broker: "Broker") -> None:
        """Read the settings.

        Raises:
            ConfigError: one cannot be used.
        """
        settings = broker.settings
        self.state = SecurityState()
        topic = settings.text("audit.log.topic")
        self.audit = BrokerAudit(broker.clock, AuditTopic(broker, topic) if topic else None)
        self.authorizer: AclAuthorizer | None = None
        if settings.text("authorizer.class.name"):
            self.authorizer = AclAuthorizer(
                self.state.acls,
                super_users=(
                    *super_users(settings.text("super.users")),
                    ADMINISTRATORS,
                    INNER_PRINCIPAL,
                ),
                everyone_if_no_acl=settings.boolean("allow.everyone.if.no.acl.found"),
                on_refusal=self.audit.denied,
                append_only=(topic,) if topic else (),
            )
        self._issuers = ListenerIssuers(broker)
        self.logins = Logins(
            broker,
            Mechanisms(
                self.state,
                EnabledMechanisms(settings).of,
                broker.clock.now_ms,
                self._issuers.verify_at,
            ),
            self.audit,
        )
        self._log = SecurityLog(broker, self.state, self.logins.revoke)

    @property
    def has_logins(self) -> bool:
        """True if there is a user, a token, or an issuer of tokens, so that clients can log in."""
        return bool(self.state.users or self.state.tokens or self._issuers.has_any)

    def load(self) -> None:
        """Replay the topic, before the broker listens.

        Raises:
            LogError: it cannot be read.
        """
        self._log.load()

    def admit(self, login: "InnerLogin") -> None:
        """Let the inner server log in on its listener, and make sure that it can read the topic."""
        self.logins.inner = InnerExchanges(login)
        self._log.ensure_topic()

    def start(self) -> None:
        """Load the keys of the issuers of tokens, and begin the topic of the audit log, if any.

        Raises:
            ConfigError: the keys are in a file that cannot be used, or the topic cannot be used.
        """
        if self.audit.topic is not None:
            self.audit.topic.start()
        self._issuers.start()

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

    def client_of_token(self, token: str, host: str) -> "Identity | None":
        """Return the client that has a bearer token; None if the token is not valid.

        A failure is in the audit log; a success is not, because metrics are read all the time.
        """
        try:
            principal, _ = self.logins.mechanisms.verify_token(token)
        except InvalidToken as error:
            stranger = Identity(Principal(USER, ""), host)
            self.audit.login(stranger, "HTTP bearer", "metrics", str(error))
            return None
        return Identity(principal, host)

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

    def flush(self) -> None:
        """Append the last lines of the audit log to its topic."""
        if self.audit.topic is not None:
            self.audit.topic.flush()

    def close(self) -> None:
        """End the threads."""
        self.logins.close()
