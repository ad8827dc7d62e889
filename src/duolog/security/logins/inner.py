"""The login of a server that a broker runs itself, such as its schema registry.

The broker makes a random password when it starts, and hands it to the server through a pipe. It
is nowhere else: not in the topic of users, in a file, an argument or the environment. It counts on
one listener only, on loopback, which no other login passes; and in the other direction, when the
broker is a client of its server.

A user has a principal of another kind, whatever its name is.
"""

import hashlib
import hmac
from typing import Final, NamedTuple, Protocol

from duolog.security.identity.principal import Principal
from duolog.security.sasl.exchange import Exchange, Failure, Result, Success

INNER_LISTENER: Final = "inner"
"""In lower case: the names that a user gives to listeners are in upper case."""
INNER_PRINCIPAL: Final = Principal("Server", "registry")
INNER_USER: Final = "registry"
PLAIN: Final = "PLAIN"
SECRET_BYTES: Final = 32


class InnerLogin(NamedTuple):
    """The name and the password of the inner server."""

    password: str
    user: str = INNER_USER

    def __repr__(self) -> str:
        return "InnerLogin(***)"

    def matches(self, user: str, password: str) -> bool:
        """Return whether a client has sent this login, in a time that does not depend on it."""
        return hmac.compare_digest(_digest(*self), _digest(password, user))


def inner_properties(login: InnerLogin) -> dict[str, str]:
    """Return the settings of a Kafka client that logs in on the inner listener."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": PLAIN,
        "sasl.username": login.user,
        "sasl.password": login.password,
    }


def _digest(password: str, user: str) -> bytes:
    text = f"{len(user)}:{user}{password}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()


class Exchanges(Protocol):
    """The SASL mechanisms of a listener."""

    @property
    def enabled(self) -> tuple[str, ...]: ...
    def begin(self, mechanism: str) -> Exchange | None:
        """Begin an exchange; None if the mechanism is not enabled."""


class InnerExchanges:
    """The mechanisms of the inner listener: PLAIN, with the one login."""

    enabled: tuple[str, ...] = (PLAIN,)

    def __init__(self, login: InnerLogin) -> None:
        self._login = login

    def begin(self, mechanism: str) -> "InnerExchange | None":
        """Begin an exchange; None if the mechanism is not PLAIN."""
        return InnerExchange(self._login) if mechanism == PLAIN else None


class InnerExchange:
    """One PLAIN authentication of the inner server: random bits need no slow hash."""

    guessable: str | None = None

    def __init__(self, login: InnerLogin) -> None:
        self._login = login

    def step(self, message: bytes) -> Result:
        """Answer the only message of the client."""
        try:
            authorization_id, user, password = message.decode().split("\0")
        except ValueError:
            return Failure("message is not authorization id, name and password")
        if authorization_id or not self._login.matches(user, password):
            return Failure("not the login of the inner server")
        return Success(b"", INNER_PRINCIPAL)
