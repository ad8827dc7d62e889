"""Access control lists: rules that allow or deny operations on resources, by Kafka's model.

    Topic:PREFIXED:orders-   User:alice   from host *   may READ    (ALLOW)

Source: Kafka `AclBinding`, `ResourcePattern`, `AccessControlEntry`, `AclEntry`.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import WILDCARD, Principal

EVERY_NAME: Final = WILDCARD
"""The name of a literal pattern that matches every resource of its type."""

EVERY_HOST: Final = WILDCARD

IMPLYING: Final[dict[Operation, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset(
        (
            Operation.DESCRIBE,
            Operation.READ,
            Operation.WRITE,
            Operation.DELETE,
            Operation.ALTER,
        )
    ),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)),
}
"""The operations whose permission includes another one. A denial includes only itself."""

SUPPORTED: Final[dict[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.TWO_PHASE_COMMIT,
    ),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
    ResourceType.SUBJECT: (
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.SOURCE: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
    ),
}
"""The operations that exist for each type of resource."""


class PatternType(IntEnum):
    """The relation between the name of a pattern and the names of resources."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """The effect of a rule."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One rule: a principal, from a host, may or may not perform an operation on resources."""

    resource_type: ResourceType
    pattern_type: PatternType
    """LITERAL or PREFIXED."""
    resource_name: str
    principal: Principal
    """A user, `User:*` for all users, or a role."""
    host: str
    """An IP address, or `*`."""
    operation: Operation
    permission: Permission
    """ALLOW or DENY."""

    def covers(self, name: str) -> bool:
        """Return whether the rule is about the resource of this name."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (EVERY_NAME, name)
