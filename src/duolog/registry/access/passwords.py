"""Hashes of passwords: scrypt, with all parameters in the text.

    scrypt:16384:8:1:<salt in base64>:<hash in base64>

Checking one takes some 50 ms and 16 MB on purpose, and never happens on the event loop.
"""

import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import Final

from duolog.core.errors import ConfigError

_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
_MEMORY_MAX: Final = 64 * 1024 * 1024


def hash_password(password: str, salt: bytes | None = None) -> str:
    """Return the hash of a password, as a users file has it.

    Example:
        >>> hash_password("secret", b"sixteen bytes...").split(":")[:4]
        ['scrypt', '16384', '8', '1']
    """
    salt = os.urandom(_SALT_BYTES) if salt is None else salt
    cost = _Cost()
    hashed = _scrypt(password, salt, cost)
    return f"scrypt:{cost.n}:{cost.r}:{cost.p}:{_text(salt)}:{_text(hashed)}"


@dataclass(frozen=True, slots=True)
class _Cost:
    """The parameters of scrypt: memory is 128 * n * r bytes."""

    n: int = 16384
    r: int = 8
    p: int = 1

    @property
    def allowed(self) -> bool:
        """True if OpenSSL accepts the parameters, and a check is not a burden for the process."""
        power_of_two = self.n > 1 and self.n & (self.n - 1) == 0
        return power_of_two and 0 < self.p <= 16 and 0 < self.r * self.n * 128 <= _MEMORY_MAX


class PasswordHash:
    """A hash that passwords are checked against.

    Raises:
        ConfigError: the text is not a hash, or its parameters need too much memory.
    """

    def __init__(self, text: str) -> None:
        parts = text.split(":")
        try:
            _, n, r, p, salt, hashed = parts
            self._cost = _Cost(int(n), int(r), int(p))
            self._salt = base64.b64decode(salt, validate=True)
            self._hash = base64.b64decode(hashed, validate=True)
        except (ValueError, binascii.Error) as error:
            raise _not_a_hash() from error
        if parts[0] != "scrypt" or not self._cost.allowed or not self._hash:
            raise _not_a_hash()

    def matches(self, password: str) -> bool:
        """Return whether this is the password, in a time that does not depend on it."""
        found = _scrypt(password, self._salt, self._cost, len(self._hash))
        return hmac.compare_digest(found, self._hash)


def _scrypt(password: str, salt: bytes, cost: _Cost, length: int = _HASH_BYTES) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=cost.n,
        r=cost.r,
        p=cost.p,
        maxmem=2 * _MEMORY_MAX,
        dklen=length,
    )


def _not_a_hash() -> ConfigError:
    return ConfigError(
        "a password is not a hash",
        name="password",
        detail="expected scrypt:N:R:P:SALT:HASH",
        hint="Create one with `duolog registry --hash-password`.",
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
