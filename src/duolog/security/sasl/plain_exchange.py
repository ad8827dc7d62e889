"""SASL PLAIN, the server's side: a name and a password in one message.

    [authorization id] NUL name NUL password

The password is verified against the SCRAM credential of the user, which takes milliseconds. An
unknown user costs the same, because its password is compared with a decoy.

Source: RFC 4616; Kafka `PlainSaslServer`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from duolog.security.credentials.scram import (
    USER_CHARACTERS_MAX,
    ScramCredential,
    ScramMechanism,
    password_matches,
)
from duolog.security.identity.principal import USER, Principal
from duolog.security.sasl.exchange import Failure, Result, Slow, Success

MESSAGE_BYTES_MAX: Final = 4 * 1024


class Stored(NamedTuple):
    """A credential that verifies a password, or a decoy."""

    mechanism: ScramMechanism
    credential: ScramCredential
    known: bool
    """True if the user exists."""


Find = Callable[[str], Stored]


class PlainExchange:
    """One PLAIN authentication."""

    guessable: str | None = None

    def __init__(self, find: Find) -> None:
        self._find = find

    def step(self, message: bytes) -> Result | Slow:
        """Answer the only message of the client."""
        if len(message) > MESSAGE_BYTES_MAX:
            return Failure("message is too long")
        try:
            parts = message.decode().split("\0")
        except UnicodeDecodeError:
            return Failure("message is not UTF-8")
        if len(parts) != 3 or not parts[1] or not parts[2]:
            return Failure("message is not authorization id, name and password")
        authorization_id, user, password = parts
        if len(user) > USER_CHARACTERS_MAX:
            return Failure("user name is too long")
        if authorization_id not in ("", user):
            return Failure("authorization id differs from the user", user)
        self.guessable = user
        stored = self._find(user)
        return Slow(lambda: check_password(stored, user, password))


def check_password(stored: Stored, user: str, password: str) -> Success | Failure:
    """Return a success if the password belongs to the credential; takes milliseconds."""
    matches = password_matches(stored.mechanism, stored.credential, password)
    if matches and stored.known:
        return Success(b"", Principal(USER, user))
    return Failure("wrong password or unknown user", user)
