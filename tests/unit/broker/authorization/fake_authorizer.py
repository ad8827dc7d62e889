"""An authorizer that allows everything but what a test denies, and records what it was asked."""

from duolog.broker.authorization.checks import Check, Named
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Identity

Right = tuple[Operation, ResourceType, str]
ANY_NAME = "(any)"
"""The name by which `allows_any` is denied and recorded."""


class FakeAuthorizer:
    """Denies single rights; a test that changes them calls `change`."""

    def __init__(self, *denied: Right) -> None:
        self.denied = set(denied)
        self.asked: list[Right] = []
        self.refused: list[Right] = []
        self.epoch = 1

    def change(self, *denied: Right) -> None:
        """Deny these rights alone from now on."""
        self.denied = set(denied)
        self.epoch += 1

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        assert client.principal.kind == "User"
        self.asked.append((operation, resource, name))
        return (operation, resource, name) not in self.denied

    def note_refusal(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        del client
        self.refused.append((operation, resource, name))

    def allows_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        return self.allows(client, operation, resource, ANY_NAME)

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        del client
        return sum(
            1 << operation
            for operation in Operation
            if operation > Operation.ALL and (operation, resource, name) not in self.denied
        )


def rights_of(check: Check, name: str) -> list[Right]:
    """Return the right of a check, and then those that suffice instead."""
    named = {Named.SAME: name, Named.CLUSTER: CLUSTER_NAME, Named.ANY: ANY_NAME}
    return [
        (check.operation, check.resource, name),
        *((right.operation, right.resource, named[right.named]) for right in check.instead),
    ]
