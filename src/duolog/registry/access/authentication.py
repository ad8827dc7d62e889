"""Authentication of requests by their header Authorization.

    NoAuthentication        there are no users
    BasicAuthentication     accounts of a users file, by passwords
    ClusterAuthentication   users of the cluster, by passwords and tokens

The users file has hashes by scrypt, which is slow on purpose. It runs on two threads, next to the
event loop, and a password that was right is remembered for `REMEMBER_S` by a keyed digest. An
unknown name costs as much time as a wrong password. If many checks wait, further ones are refused:
a client that guesses passwords does not delay the others for long, nor keep them out (see
`check_places`).

Thread: the event loop, except for scrypt itself.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from duolog.registry.access.client import Client, ClusterClient
from duolog.registry.access.passwords import PasswordHash, hash_password
from duolog.registry.access.users import ANONYMOUS, Account, User
from duolog.security.identity.principal import Identity
from duolog.security.logins.authenticator import Authenticator, LoginFailed, TooManyLogins
from duolog.security.logins.check_places import CheckPlaces, NoPlace
from duolog.security.logins.inner import INNER_PRINCIPAL

if TYPE_CHECKING:
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.logins.inner import InnerLogin

REMEMBER_S: Final = 60.0
_THREADS: Final = 2
_WAITING_MAX: Final = 64
_REMEMBERED_MAX: Final = 1000
_CREDENTIALS_MAX: Final = 1024
BASIC_CHALLENGE: Final = 'Basic realm="schema registry", charset="UTF-8"'
BEARER_CHALLENGE: Final = 'Bearer realm="schema registry"'
_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([-_.~+/A-Za-z0-9]+=*) *")
"""RFC 6750."""


class Unauthenticated(Exception):
    """The request has no valid name and password."""


class TooManyChecks(Exception):
    """Too many passwords are being checked now."""


class Authentication(Protocol):
    """Finds the client of a request."""

    @property
    def challenges(self) -> tuple[str, ...]:
        """The headers WWW-Authenticate of a refusal."""

    async def client(self, authorization: str | None, host: str) -> Client:
        """Return the client of a header Authorization, from an IP address.

        Raises:
            Unauthenticated: the header is missing or wrong.
            TooManyChecks: too many passwords are being checked now.
        """


class NoAuthentication:
    """Lets every client do everything."""

    challenges: Final[tuple[str, ...]] = ()

    async def client(self, authorization: str | None, host: str) -> User:
        del authorization, host
        return ANONYMOUS


class ClusterAuthentication:
    """Checks passwords and tokens against the users of a cluster.

    Args:
        authenticator: checks them.
        authorizer: returns the access control lists of now; None if users may do everything.
        inner: the login of the broker that runs this registry: it checks schema ids of records.
    """

    challenges: Final = (BASIC_CHALLENGE, BEARER_CHALLENGE)

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: "Callable[[], Authorizer | None]",
        inner: "InnerLogin | None" = None,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._inner = inner

    async def client(self, authorization: str | None, host: str) -> ClusterClient:
        try:
            if (token := bearer_token(authorization)) is not None:
                identity = await self._authenticator.by_token(token, host)
            else:
                name, password = credentials_of(authorization)
                if self._inner is not None and self._inner.matches(name, password):
                    return ClusterClient(Identity(INNER_PRINCIPAL, host), self._authorizer())
                identity = await self._authenticator.by_password(name, password, host)
        except LoginFailed as error:
            raise Unauthenticated from error
        except TooManyLogins as error:
            raise TooManyChecks from error
        return ClusterClient(identity, self._authorizer())


class BasicAuthentication:
    """Checks names and passwords against the accounts of a users file."""

    challenges: Final = (BASIC_CHALLENGE,)

    def __init__(
        self, accounts: Mapping[str, Account], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._accounts = accounts
        self._clock = clock
        self._key = os.urandom(32)
        self._remembered: dict[bytes, tuple[float, User]] = {}
        self._decoy = PasswordHash(hash_password(os.urandom(16).hex()))
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="scrypt")
        self._places = CheckPlaces(_WAITING_MAX)

    def replace(self, accounts: Mapping[str, Account]) -> None:
        """Check against other accounts from the next request on."""
        self._accounts = accounts
        self._remembered.clear()

    async def client(self, authorization: str | None, host: str) -> User:
        name, password = credentials_of(authorization)
        digest = hmac.digest(self._key, f"{name}:{password}".encode(), hashlib.sha256)
        known = self._remembered.get(digest)
        if known is not None and known[0] > self._clock():
            return known[1]
        accounts = self._accounts
        account = accounts.get(name)
        hashed = account.password if account is not None else self._decoy
        try:
            matches = await self._places.run(host, partial(hashed.matches, password), self._pool)
        except NoPlace:
            raise TooManyChecks from None
        if account is None or not matches:
            raise Unauthenticated
        if accounts is not self._accounts:  # They were replaced meanwhile.
            return await self.client(authorization, host)
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[digest] = (self._clock() + REMEMBER_S, account.user)
        return account.user

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def bearer_token(authorization: str | None) -> str | None:
    """Return the token of a header Authorization; None if it has none.

    Example:
        >>> bearer_token("Bearer a.b.c"), bearer_token("Basic Og=="), bearer_token("Bearer ä")
        ('a.b.c', None, None)
    """
    match = _BEARER.fullmatch(authorization or "")
    return None if match is None else match[1]


def credentials_of(authorization: str | None) -> tuple[str, str]:
    """Return the name and the password of a header Authorization.

    Raises:
        Unauthenticated: it has none.
    """
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _CREDENTIALS_MAX:
        raise Unauthenticated
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Unauthenticated from error
    name, colon, password = text.partition(":")
    if not colon:
        raise Unauthenticated
    return name, password
