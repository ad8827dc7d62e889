"""Basic authentication of requests.

scrypt is slow on purpose. It runs on two threads, next to the event loop, and a password that was
right is remembered for `REMEMBER_S` by a keyed digest. An unknown name costs as much time as a
wrong password. If many checks wait, further ones are refused: a client that guesses passwords does
not delay the others for long.

Thread: the event loop, except for scrypt itself.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from duolog.registry.access.passwords import PasswordHash, hash_password
from duolog.registry.access.users import ANONYMOUS, Account, User

REMEMBER_S: Final = 60.0
_THREADS: Final = 2
_WAITING_MAX: Final = 64
_REMEMBERED_MAX: Final = 1000
_CREDENTIALS_MAX: Final = 1024


class Unauthenticated(Exception):
    """The request has no valid name and password."""


class TooManyChecks(Exception):
    """Too many passwords are being checked now."""


class Authentication(Protocol):
    """Finds the user of a request."""

    async def user(self, authorization: str | None) -> User:
        """Return the user of a header Authorization.

        Raises:
            Unauthenticated: the header is missing or wrong.
            TooManyChecks: too many passwords are being checked now.
        """


class NoAuthentication:
    """Lets every client do everything."""

    async def user(self, authorization: str | None) -> User:
        del authorization
        return ANONYMOUS


class BasicAuthentication:
    """Checks names and passwords against the accounts of a users file."""

    def __init__(
        self, accounts: Mapping[str, Account], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._accounts = accounts
        self._clock = clock
        self._key = os.urandom(32)
        self._remembered: dict[bytes, tuple[float, User]] = {}
        self._decoy = PasswordHash(hash_password(os.urandom(16).hex()))
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="scrypt")
        self._waiting = 0

    def replace(self, accounts: Mapping[str, Account]) -> None:
        """Check against other accounts from the next request on."""
        self._accounts = accounts
        self._remembered.clear()

    async def user(self, authorization: str | None) -> User:
        name, password = _credentials(authorization)
        digest = hmac.digest(self._key, f"{name}:{password}".encode(), hashlib.sha256)
        known = self._remembered.get(digest)
        if known is not None and known[0] > self._clock():
            return known[1]
        if self._waiting >= _WAITING_MAX:
            raise TooManyChecks
        accounts = self._accounts
        account = accounts.get(name)
        hashed = account.password if account is not None else self._decoy
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            matches = await loop.run_in_executor(self._pool, hashed.matches, password)
        finally:
            self._waiting -= 1
        if account is None or not matches:
            raise Unauthenticated
        if accounts is not self._accounts:  # They were replaced meanwhile.
            return await self.user(authorization)
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[digest] = (self._clock() + REMEMBER_S, account.user)
        return account.user

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _credentials(authorization: str | None) -> tuple[str, str]:
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
