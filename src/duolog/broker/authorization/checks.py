"""Questions to the authorizer: each is a row of the table that handlers ask and a page shows.

A broker without an authorizer allows everything, and asks nothing.

An answer to a client without the right depends on the name in its request alone, not on whether
there is such a resource: handlers ask before they look.

Source: Kafka `AuthHelper`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.operations import CLUSTER_OPERATIONS, GROUP_OPERATIONS, TOPIC_OPERATIONS
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.identity.principal import Identity, Principal

_CODES: Final = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_ALL_OPERATIONS: Final = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
}
_NO_NAMES: Final[frozenset[str]] = frozenset()


class NotAuthorized(KafkaError):
    """A client without the right that its request needs."""

    def __init__(self, principal: "Principal", check: "Check", name: str) -> None:
        kind = check.resource.name.lower().replace("_", " ")
        what = kind if check.resource is ResourceType.CLUSTER else f'{kind} "{name}"'
        super().__init__(
            f"{principal} has no right to {check.operation.name} on {what}",
            code=check.code,
            hint="An administrator can grant it with an ACL.",
        )


class Asker(Protocol):
    """A request or a connection, whose client needs rights."""

    @property
    def authorizer(self) -> "Authorizer | None": ...
    @property
    def identity(self) -> "Identity": ...


class Effect(Enum):
    """The result for a client without the right; the values are for the page."""

    REQUEST = "the request fails"
    ITEM = "the item fails"
    LEFT_OUT = "left out of the answer"
    PART = "a part of the answer is left out"


_REFUSALS: Final = frozenset({Effect.REQUEST, Effect.ITEM})


class Named(Enum):
    """The resource of a right that suffices instead of the one of the check."""

    SAME = "the same name"
    CLUSTER = "the cluster"
    ANY = "any name"


class Instead(NamedTuple):
    """A right that suffices instead of the one of the check."""

    operation: Operation
    resource: ResourceType
    named: Named


@dataclass(frozen=True, slots=True)
class Check:
    """A right that an API needs.

    Args:
        operation: what the client wants to do.
        resource: the type of the resource.
        named_by: where the name comes from, for the page.
        effect: what the client gets without the right.
        instead: rights of which each suffices, too.
        note: what else the page must say.
    """

    operation: Operation
    resource: ResourceType
    named_by: str
    effect: Effect
    instead: tuple[Instead, ...] = ()
    note: str = ""

    @property
    def code(self) -> ErrorCode:
        """The error that a client gets without the right."""
        return _CODES[self.resource]

    @property
    def shows_code(self) -> bool:
        """True if the answer has the error."""
        return self.effect in {Effect.REQUEST, Effect.ITEM}

    def allows(self, asker: Asker, name: str = CLUSTER_NAME) -> bool:
        """Return whether the client has the right to the resource of this name."""
        authorizer = asker.authorizer
        return authorizer is None or self.allowed_by(authorizer, asker.identity, name)

    def allowed_by(self, authorizer: "Authorizer", client: "Identity", name: str) -> bool:
        """Ask the authorizer; report to it what the client is refused."""
        allowed = authorizer.allows(client, self.operation, self.resource, name) or any(
            _suffices(authorizer, client, right, name) for right in self.instead
        )
        if not allowed and self.effect in _REFUSALS:
            authorizer.note_refusal(client, self.operation, self.resource, name)
        return allowed

    def ensure(self, asker: Asker, name: str = CLUSTER_NAME) -> None:
        """Refuse a client without the right.

        Raises:
            NotAuthorized: it has not.
        """
        if not self.allows(asker, name):
            raise self.refusal(asker, name)

    def refusal(self, asker: Asker, name: str = CLUSTER_NAME) -> NotAuthorized:
        return NotAuthorized(asker.identity.principal, self, name)

    def denied(self, asker: Asker, names: Iterable[str]) -> frozenset[str]:
        """Return the names to which the client has no right; each is asked for once."""
        authorizer = asker.authorizer
        if authorizer is None:
            return _NO_NAMES
        client = asker.identity
        return frozenset(
            name for name in set(names) if not self.allowed_by(authorizer, client, name)
        )


def _suffices(authorizer: "Authorizer", client: "Identity", right: Instead, name: str) -> bool:
    operation, resource, named = right
    if named is Named.ANY:
        return authorizer.allows_any(client, operation, resource)
    return authorizer.allows(
        client, operation, resource, CLUSTER_NAME if named is Named.CLUSTER else name
    )


def authorized_operations(asker: Asker, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
    """Return the operations that the client may do, as bits.

    Source: KIP-430.
    """
    known, authorizer = _ALL_OPERATIONS[resource], asker.authorizer
    return (
        known
        if authorizer is None
        else known & authorizer.operations(asker.identity, resource, name)
    )
