"""The login of one connection: SaslHandshake, SaslAuthenticate, and again before it expires.

    begun ── handshake ──▶ exchange ── authenticate … ──▶ logged in ── handshake ──▶ exchange …
                              │ failure                       │ session expired
                              ▼                               ▼
                    answered later, closed        any other request closes the connection

Requests of a connection begin in order, so a client may keep sending others while it logs in
again (KIP-368). A second login must use the first one's mechanism and principal. A failure has one
code and one text, whatever its reason, and is answered after a delay.

A session ends when its user is removed, or its token is revoked. In Kafka, the connection
lasts until the client closes it.

Source: Kafka `SaslServerAuthenticator`; KIP-43, KIP-152, KIP-368.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.core.units import SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.inner import INNER_LISTENER
from duolog.security.sasl.exchange import Challenge, Exchange, Failure, Result, Slow, Success

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer, Timers
    from duolog.broker.identity.needs import Connection
    from duolog.core.clock import Clock
    from duolog.security.logins.audit import Audit
    from duolog.security.logins.inner import Exchanges
    from duolog.security.logins.login_limits import LoginLimits

FAILED: Final = "Authentication failed during authentication due to invalid credentials"
"""The text of every failure; Java clients show it to their users."""

TOKENS: Final = "OAUTHBEARER"
"""The mechanism of tokens; the others ask for a password."""

_LAST_WORD_S: Final = 0.2
"""The time in which the responses to requests before the end of a session leave."""

_AGAIN_S: Final = 1.0
"""Kafka's MIN_REAUTH_INTERVAL: clients log in again no sooner."""


class Handshake(NamedTuple):
    """The answer to SaslHandshake."""

    error_code: int
    mechanisms: tuple[str, ...]


class Authenticated(NamedTuple):
    """The answer to SaslAuthenticate."""

    error_code: int
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0


class Shared(Protocol):
    """The parts that all logins of a broker share; `logins` has them."""

    clock: "Clock"
    audit: "Audit"
    limits: "LoginLimits"

    def exchanges(self, listener: str) -> "Exchanges": ...
    @property
    def timers(self) -> "Timers": ...
    @property
    def failure_delay_s(self) -> float: ...
    def lifetime_ms(self, listener: str, expires_at_ms: int | None) -> int | None: ...
    def compute(self, step: Slow, host: str, done: Callable[[Result], None]) -> None: ...
    def has_user(self, user: str) -> bool: ...


class Login:
    """The login of one connection."""

    def __init__(self, logins: Shared, connection: "Connection") -> None:
        self._logins = logins
        self._connection = connection
        self._mechanism = ""
        self._exchange: Exchange | None = None
        self._first: tuple[str, Principal] | None = None
        """Mechanism and principal of the first login, once it succeeded."""
        self._token_id = ""
        self._succeeded_at = 0.0
        self._expiry: Timer | None = None

    def handshake(self, mechanism: str) -> Handshake:
        """Choose a mechanism; after an error the connection is closed."""
        logins, exchanges = self._logins, self._logins.exchanges(self._connection.listener)
        enabled = exchanges.enabled
        too_soon = self._first and logins.clock.monotonic() - self._succeeded_at < _AGAIN_S
        if self._exchange is not None or too_soon:
            self._connection.end("SaslHandshake at the wrong time")
            return Handshake(ErrorCode.ILLEGAL_SASL_STATE, enabled)
        exchange = exchanges.begin(mechanism)
        if exchange is None:
            self._connection.end("SASL mechanism is not enabled")
            return Handshake(ErrorCode.UNSUPPORTED_SASL_MECHANISM, enabled)
        self._mechanism, self._exchange = mechanism, exchange
        return Handshake(ErrorCode.NONE, enabled)

    def authenticate(self, data: bytes, answer: Callable[[Authenticated], None]) -> None:
        """Take a message of the client; `answer` is called once, now or later."""
        exchange = self._exchange
        if exchange is None:
            answer(Authenticated(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake comes first"))
            self._connection.end("SaslAuthenticate before SaslHandshake")
            return
        step = exchange.step(data)
        if not isinstance(step, Challenge):
            step = self._limited() or step
        if isinstance(step, Slow):
            host = self._connection.host
            self._logins.compute(step, host, lambda result: self._take_late(result, answer))
        else:
            self._take(step, answer)

    def _limited(self) -> Failure | None:
        """Return the failure of a user that has failed too often from this address."""
        user = None if self._exchange is None else self._exchange.guessable
        if user is None or self._logins.limits.allows(self._connection.host, user):
            return None
        reason = "too many failed logins of this user from this address"
        return Failure(reason, user, guessed=False)

    def _take_late(self, result: Result, answer: Callable[[Authenticated], None]) -> None:
        """Take the result of a slow step, unless the user has meanwhile failed too often.

        Guesses that were sent all at once, over many connections, learn nothing more.
        """
        self._take(self._limited() or result, answer)

    def close(self) -> None:
        """Forget what is planned for the connection."""
        if self._expiry is not None:
            self._expiry.cancel()

    def is_of_user(self, user: str) -> bool:
        """Return whether the client has logged in by the password of a user."""
        by_password = self._first is not None and self._first[0] != TOKENS
        return by_password and self._connection.identity.principal == Principal(USER, user)

    def is_of_token(self, token_id: str) -> bool:
        """Return whether the client has logged in by a token."""
        return self._token_id == token_id

    def revoke(self, reason: str) -> None:
        """Handle no further request, and close the connection soon.

        Its last response may be the one to the request that removed the user.
        """
        connection = self._connection
        connection.end(reason)
        self._logins.timers.call_later(_LAST_WORD_S, lambda: self._cut_off(reason))

    def _cut_off(self, reason: str) -> None:
        self._connection.close(reason, level=logging.INFO)

    def _take(self, result: Result, answer: Callable[[Authenticated], None]) -> None:
        if self._connection.closed:
            return
        if isinstance(result, Success) and (reason := self._changed(result.principal)):
            result = Failure(reason, result.principal.name)
        match result:
            case Challenge(data):
                answer(Authenticated(ErrorCode.NONE, auth_bytes=data))
            case Success():
                self._exchange = None
                answer(self._let_in(result))
            case Failure():
                self._fail(result, answer)

    def _changed(self, principal: Principal) -> str:
        """Return why a login may not follow the first one; empty if it may."""
        if self._first is not None and self._first != (self._mechanism, principal):
            return "mechanism or principal differs from the first login of the connection"
        by_password = self._mechanism != TOKENS and principal.kind == USER
        if by_password and not self._logins.has_user(principal.name):
            return "the user was removed during the login"
        return ""

    def _let_in(self, success: Success) -> Authenticated:
        connection, logins = self._connection, self._logins
        identity = Identity(success.principal, connection.host)
        self._first = self._mechanism, success.principal
        self._token_id = success.token_id
        self._succeeded_at = logins.clock.monotonic()
        lifetime_ms = logins.lifetime_ms(connection.listener, success.expires_at_ms)
        self.close()
        if lifetime_ms is not None:
            # Java clients log in again after 85 to 95 % of the lifetime.
            self._expiry = logins.timers.call_later(lifetime_ms / SECOND_MS, connection.shut)
        connection.let_in(identity)
        # The broker's own servers connect all the time; the log would contain little else.
        if connection.listener != INNER_LISTENER:
            logins.audit.login(identity, self._mechanism, connection.listener)
        return Authenticated(
            ErrorCode.NONE, auth_bytes=success.data, session_lifetime_ms=lifetime_ms or 0
        )

    def _fail(self, failure: Failure, answer: Callable[[Authenticated], None]) -> None:
        connection, logins = self._connection, self._logins
        claimed = Identity(Principal(USER, failure.user), connection.host)
        user = None if self._exchange is None else self._exchange.guessable
        if failure.guessed and user is not None:
            logins.limits.failed(connection.host, user)
        logins.audit.login(claimed, self._mechanism, connection.listener, failure.reason)

        def say_so() -> None:
            if not connection.closed:
                answer(Authenticated(ErrorCode.SASL_AUTHENTICATION_FAILED, FAILED))
                connection.end("login failed")

        logins.timers.call_later(logins.failure_delay_s, say_so)
