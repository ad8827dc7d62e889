"""One authentication: messages of the client in, answers and at last a principal out.

A step that has to derive keys of a password returns `Slow`: the server runs its work on a thread
and continues with the result. Every failure looks the same to the client; its reason is only for
the audit log, and never contains what the client sent as a secret.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from duolog.security.identity.principal import Principal


class Challenge(NamedTuple):
    """An answer after which the client sends another message."""

    data: bytes


class Success(NamedTuple):
    """The client is authenticated."""

    data: bytes
    principal: Principal
    expires_at_ms: int | None = None
    """The time at which the credential of the client expires; None if it does not."""
    token_id: str = ""
    """Id of the server's own token that the client has sent; empty if it sent something else."""


class Failure(NamedTuple):
    """The client is not authenticated; the exchange is over."""

    reason: str
    user: str = ""
    """The user that the client claims to be, for the audit log."""
    guessed: bool = True
    """False if the client does not learn whether its password is right: it does not count then."""


Result: TypeAlias = Challenge | Success | Failure


class Slow(NamedTuple):
    """A step that takes milliseconds; `work` may run on any thread."""

    work: Callable[[], Result]


class Exchange(Protocol):
    """The server side of a mechanism, for one authentication."""

    @property
    def guessable(self) -> str | None:
        """The user whose password is being proved; None if there is none to guess, or not yet."""

    def step(self, message: bytes) -> Result | Slow:
        """Answer a message of the client; it is not called again after a success or failure."""
