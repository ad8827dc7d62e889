"""SCRAM credentials of users, by RFC 5802 and RFC 7677.

    SaltedPassword = PBKDF2(password, salt, iterations)
    StoredKey      = H(HMAC(SaltedPassword, "Client Key"))
    ServerKey      = HMAC(SaltedPassword, "Server Key")

One credential verifies a SCRAM exchange, and a password that a client sends in the clear inside of
TLS (SASL PLAIN, HTTP basic). Deriving the keys of a password takes milliseconds on purpose: it
belongs on a thread of its own.

Passwords are used as UTF-8 without SASLprep, as Kafka and its clients do.

Source: Kafka `ScramMechanism`, `ScramFormatter`, `ScramCredential`; KIP-84, KIP-554.
"""

import hashlib
import hmac
from enum import IntEnum
from typing import Final, NamedTuple

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
PASSWORD_CHARACTERS_MIN: Final = 8
"""The shortest new password; Kafka has no limit."""
USER_CHARACTERS_MAX: Final = 255
"""The longest name of a user. What is kept about logins that fail is thereby bounded, too."""
SALT_BYTES: Final = 24
"""The size of a new salt; Kafka's tools use a similar one."""
SALT_BYTES_MAX: Final = 256


class ScramMechanism(IntEnum):
    """A SCRAM mechanism, with the code of Kafka's APIs."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism(self) -> str:
        """The name that SASL uses, such as `SCRAM-SHA-256`."""
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        """The hash function, as `hashlib` names it."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def digest_bytes(self) -> int:
        """The size of a salted password and of the keys."""
        return hashlib.new(self.digest).digest_size


BY_NAME: Final = {each.mechanism: each for each in ScramMechanism}


class ScramCredential(NamedTuple):
    """The stored part of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations}, ***)"  # Never the keys, in no log.


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Return the salted password; takes milliseconds."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential of a salted password."""
    client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.digest),
        iterations=iterations,
    )


def password_matches(mechanism: ScramMechanism, stored: ScramCredential, password: str) -> bool:
    """Return whether a password belongs to a credential; takes milliseconds, and no less if not."""
    salted = salted_password(mechanism, password, stored.salt, stored.iterations)
    offered = credential(mechanism, salted, stored.salt, stored.iterations)
    return hmac.compare_digest(offered.server_key, stored.server_key)
