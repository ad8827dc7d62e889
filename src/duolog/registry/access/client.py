"""The client of a request: who it is, and what it may do with subjects.

users file         `User`, by patterns
users of a cluster `ClusterClient`, by access control lists of the cluster
neither            `users.ANONYMOUS`, which may do everything
"""

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity

if TYPE_CHECKING:
    from duolog.security.authorization.authorizer import Authorizer

_EVERY_SUBJECT: Final = ""
"""No subject has this name, so that only rules about all subjects cover it."""


class Client(Protocol):
    """A client that has logged in, or one that need not."""

    @property
    def name(self) -> str:
        """The name for messages and the access log."""

    @property
    def reads_everything(self) -> bool:
        """True if nothing can be hidden from the client."""

    def may(self, operation: Operation, subject: str | None) -> bool:
        """Return whether the client may do this with a subject; None is all of them."""

    def may_read_topic(self, topic: str) -> bool:
        """Return whether the client may see the records of a topic."""

    def may_see_group(self, group: str) -> bool:
        """Return whether the client may see a consumer group."""

    def note_refusal(self, operation: Operation, subject: str | None) -> None:
        """Write a refused change to the audit log, if there is one."""


class ClusterClient(NamedTuple):
    """A user of the cluster; without an authorizer, users may do everything."""

    identity: Identity
    authorizer: "Authorizer | None"

    @property
    def name(self) -> str:
        return self.identity.principal.name

    @property
    def reads_everything(self) -> bool:
        return self.authorizer is None

    def may(self, operation: Operation, subject: str | None) -> bool:
        return self._may(operation, ResourceType.SUBJECT, subject or _EVERY_SUBJECT)

    def may_read_topic(self, topic: str) -> bool:
        return self._may(Operation.READ, ResourceType.TOPIC, topic)

    def may_see_group(self, group: str) -> bool:
        return self._may(Operation.DESCRIBE, ResourceType.GROUP, group)

    def note_refusal(self, operation: Operation, subject: str | None) -> None:
        if self.authorizer is not None:
            name = subject or _EVERY_SUBJECT
            self.authorizer.note_refusal(self.identity, operation, ResourceType.SUBJECT, name)

    def _may(self, operation: Operation, resource: ResourceType, name: str) -> bool:
        authorizer = self.authorizer
        return authorizer is None or authorizer.allows(self.identity, operation, resource, name)
