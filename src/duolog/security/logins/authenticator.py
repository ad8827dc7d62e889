"""Logins by passwords and tokens, for servers on asyncio: HTTP, PostgreSQL's protocol, a page.

    by_password ─▶ remembered? ─▶ limits ─▶ thread: PBKDF2 ─▶ Identity, or LoginFailed
    by_token    ─▶ digest, or signature ─────────────────────▶ Identity, or LoginFailed

Deriving the keys of a password takes milliseconds on purpose: it happens on threads. A protocol
without sessions, such as HTTP, sends the password with each request. So one that was right is
remembered for `REMEMBER_S`, by a keyed digest, until a credential changes. An unknown user costs as
much as a wrong password. If many passwords wait, further ones are refused; no address can keep the
others out by it, see `check_places`.

A server that uses SASL itself begins exchanges with `Mechanisms`, as the broker does.

Thread: the event loop of the server, except for PBKDF2 itself.
"""

import hashlib
import hmac
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.check_places import CheckPlaces, NoPlace
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.security.sasl.exchange import Failure
from duolog.security.sasl.plain_exchange import Stored, check_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from duolog.core.clock import Clock
    from duolog.security.logins.audit import Audit
    from duolog.security.logins.login_limits import LoginLimits
    from duolog.security.logins.mechanisms import Mechanisms

REMEMBER_S: Final = 60.0
WAITING_MAX: Final = 64
_THREADS: Final = 2
_REMEMBERED_MAX: Final = 1000
PASSWORD_CHARACTERS_MAX: Final = 1024
_LIMITED: Final = "too many failed logins of this user from this address"


class LoginFailed(Exception):
    """A client is not who it claims to be; the client gets no reason."""


class TooManyLogins(Exception):
    """Too many passwords are being checked now; the client may try again."""


class Authenticator(Protocol):
    """Finds out who clients are."""

    async def by_password(self, user: str, password: str, host: str) -> Identity:
        """Return the identity of a client that sent a name and a password.

        The host is the client's IP address, without a port.

        Raises:
            LoginFailed: there is no such user, or the password is wrong.
            TooManyLogins: too many passwords are being checked now.
        """

    async def by_token(self, token: str, host: str) -> Identity:
        """Return the identity of a client that sent a bearer token.

        Raises:
            LoginFailed: the token is not valid.
        """


class StoreAuthenticator:
    """Checks passwords and tokens against the users of a `SecurityState`.

    Args:
        mechanisms: returns the credentials of now.
        limits: failed logins, by address and user.
        audit: gets every failure.
        listener: the name of the server in the audit log.
    """

    def __init__(
        self,
        mechanisms: "Callable[[], Mechanisms]",
        limits: "LoginLimits",
        audit: "Audit",
        clock: "Clock",
        listener: str,
    ) -> None:
        self._mechanisms = mechanisms
        self._limits = limits
        self._audit = audit
        self._clock = clock
        self._listener = listener
        self._key = secrets.token_bytes(32)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="passwords")
        self._places = CheckPlaces(WAITING_MAX)
        self._remembered: dict[bytes, float] = {}
        """Digests of users with right passwords, and the time until which they are remembered."""
        self._remembered_of: _Moment | None = None

    async def by_password(self, user: str, password: str, host: str) -> Identity:
        """Return the identity of a client; see `Authenticator`."""
        identity = Identity(Principal(USER, user), host)
        if not user or not password or len(user) + len(password) > PASSWORD_CHARACTERS_MAX:
            raise self._failure(identity, "PASSWORD", "name or password is empty or too long")
        digest = self._digest(user, password)
        if self._recalls(digest):
            return identity
        if not self._limits.allows(host, user):
            raise self._failure(identity, "PASSWORD", _LIMITED)
        moment = self._now()
        stored = moment.mechanisms.stored(user)
        if isinstance(await self._check(stored, user, password, host), Failure):
            self._limits.failed(host, user)
            reason = "wrong password or unknown user"
            raise self._failure(identity, "PASSWORD", reason)
        if not self._limits.allows(host, user):
            # Others failed meanwhile. Guesses that were sent all at once learn nothing more.
            raise self._failure(identity, "PASSWORD", _LIMITED)
        if moment != self._now():  # A credential has changed meanwhile.
            return await self.by_password(user, password, host)
        self._remember(digest)
        return identity

    async def by_token(self, token: str, host: str) -> Identity:
        """Return the identity of a client; see `Authenticator`."""
        try:
            principal, _expires_at_ms = self._mechanisms().verify_token(token)
        except InvalidToken as error:
            unknown = Identity(Principal(USER, ""), host)
            raise self._failure(unknown, "TOKEN", str(error)) from None
        return Identity(principal, host)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _check(self, stored: Stored, user: str, password: str, host: str) -> object:
        try:
            return await self._places.run(
                host, partial(check_password, stored, user, password), self._pool
            )
        except NoPlace:
            raise TooManyLogins from None

    def _failure(self, claimed: Identity, mechanism: str, reason: str) -> LoginFailed:
        self._audit.login(claimed, mechanism, self._listener, reason)
        return LoginFailed(reason)

    def _now(self) -> "_Moment":
        mechanisms = self._mechanisms()
        return _Moment(mechanisms, mechanisms.users_epoch)

    def _digest(self, user: str, password: str) -> bytes:
        text = f"{len(user)}:{user}{password}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256)

    def _recalls(self, digest: bytes) -> bool:
        now = self._now()
        if now != self._remembered_of:
            self._remembered.clear()
            self._remembered_of = now
        until = self._remembered.get(digest)
        return until is not None and until > self._clock.monotonic()

    def _remember(self, digest: bytes) -> None:
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[digest] = self._clock.monotonic() + REMEMBER_S


class _Moment(NamedTuple):
    """The credentials of a moment; a moment with others is another one."""

    mechanisms: "Mechanisms"
    epoch: int
