"""The client of a request: who it is, and what it may do.

A server without users lets every client do everything. With users, the rules of the cluster
decide; without an authorizer, every user may do everything.
"""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import ANONYMOUS, Identity
from duolog.server.errors import forbidden

if TYPE_CHECKING:
    from duolog.security.authorization.authorizer import Authorizer


class Right(NamedTuple):
    """An operation on one resource; the empty name is covered by rules about all only."""

    operation: Operation
    resource: ResourceType
    name: str


class Login(Enum):
    """The credential that a client has sent."""

    NONE = "none"
    PASSWORD = "password"  # noqa: S105 - a kind, not a secret
    TOKEN = "token"  # noqa: S105 - as above
    SESSION = "session"


def _always() -> bool:
    return True


class Client(NamedTuple):
    """A client that has logged in, or one that need not.

    Attributes:
        authorizer: the rules of the cluster; None if the client may do everything.
        login: how the client logged in; NONE if there are no users.
        epoch: that of the credentials before the password was checked, see `Sessions`.
        lasts: returns False after the end of the client's session, for responses without an end.
    """

    identity: Identity
    authorizer: "Authorizer | None" = None
    login: Login = Login.NONE
    epoch: object = None
    lasts: Callable[[], bool] = _always

    @property
    def name(self) -> str:
        """The name for the access log."""
        return self.identity.principal.name

    def may(self, operation: Operation, resource: ResourceType, name: str) -> bool:
        """Return whether the client may do this; for leaving resources out of an answer."""
        return self.authorizer is None or self.authorizer.allows(
            self.identity, operation, resource, name
        )

    def ensure(self, right: Right) -> None:
        """Ensure that the client has a right.

        Raises:
            RequestRefused: it does not. The audit log then has a line.
        """
        if not self.may(*right):
            assert self.authorizer is not None
            self.authorizer.note_refusal(self.identity, *right)
            raise forbidden()


NOBODY: Final = Client(Identity(ANONYMOUS, ""))
"""The client of every request if there are no users."""
