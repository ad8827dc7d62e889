"""Tokens: random secrets that identify a user without a password.

A token is 256 random bits in text, with a prefix by which scanners of leaked secrets find it. Only
its SHA-256 is stored. A fast hash is enough here: an attacker cannot guess 256 random bits.
"""

import base64
import hashlib
from typing import Final, NamedTuple

from duolog.security.identity.principal import Principal

PREFIX: Final = "duolog_"
SECRET_BYTES: Final = 32
_ID_DIGITS: Final = 16


class Token(NamedTuple):
    """The stored part of a token."""

    digest: str
    """The SHA-256 of the token, in hexadecimal digits."""
    principal: Principal
    created_at_ms: int
    expires_at_ms: int | None
    """None if the token does not expire."""
    description: str = ""

    @property
    def token_id(self) -> str:
        """The name of the token in lists, which is not secret."""
        return id_of(self.digest)

    def __repr__(self) -> str:
        return f"Token({self.token_id} of {self.principal})"


def new_token(random_bytes: bytes) -> str:
    """Return the text of a token; `random_bytes` are `SECRET_BYTES` from a secure source."""
    assert len(random_bytes) == SECRET_BYTES
    return PREFIX + base64.urlsafe_b64encode(random_bytes).rstrip(b"=").decode()


def digest_of(token: str) -> str:
    """Return the SHA-256 of a token, by which it is found."""
    return hashlib.sha256(token.encode()).hexdigest()


def id_of(digest: str) -> str:
    """Return the id of a token, the start of its digest."""
    return digest[:_ID_DIGITS]
