"""The question that every server asks before it acts: may this client do this?

A server without authorization has no authorizer (None), and asks nothing.

Source: Kafka `Authorizer`, `AuthHelper`.
"""

from typing import Protocol

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity


class Authorizer(Protocol):
    """Decides what clients may do. All methods are fast, and never block."""

    @property
    def epoch(self) -> int:
        """A number that grows when a decision may have changed: remembered ones then expire."""

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        """Return whether `client` may perform `operation` on the resource of this name."""

    def allows_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        """Return whether there can be a resource of this type on which the operation is allowed.

        Source: Kafka `Authorizer.authorizeByResourceType` (KIP-679).
        """

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        """Return the allowed operations of a resource as bits (KIP-430)."""

    def note_refusal(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        """Take notice that a server has refused a request, or a part of it, for this reason.

        A server that only leaves resources out of an answer does not call it.
        """
