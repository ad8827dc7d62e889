"""Decide by access control lists, super users and roles, as Kafka's StandardAuthorizer does.

1. A super user may do everything; a denial does not apply to it.
2. A DENY rule that covers the resource, the principal, the host and the operation denies.
3. An ALLOW rule that covers them allows. READ, WRITE, DELETE and ALTER also allow DESCRIBE, and
   ALTER_CONFIGS allows DESCRIBE_CONFIGS.
4. If no rule of any principal covers the resource, `allow.everyone.if.no.acl.found` decides.
5. Otherwise the operation is denied.

Rules about topics never open the topic of the credentials: to read it needs CLUSTER_ACTION on the
cluster, and to write it ALTER. On an append-only topic, such as that of the audit log, rules allow
only to read and to describe.

The rules of a client are those of its principal, of `User:*`, and of the roles that its principal
is a member of. Decisions are remembered until rules or roles change.

Threads: one thread, the event loop of the server.
Source: Kafka `StandardAuthorizerData`, `Authorizer.authorizeByResourceType` (KIP-679), KIP-430.
"""

from collections.abc import Callable, Iterable
from typing import Final

from duolog.core.listening import plain_host
from duolog.security.authorization.acl_index import AclIndex, Bucket
from duolog.security.authorization.acls import (
    EVERY_HOST,
    EVERY_NAME,
    IMPLYING,
    SUPPORTED,
    Acl,
    PatternType,
    Permission,
)
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Identity, Principal

REMEMBERED_MAX: Final = 20_000
"""The number of remembered decisions at which all are forgotten: a bound on memory."""

REMEMBERED_CHARACTERS_MAX: Final = 300
"""Longer names are no topics, and a client can send any: decisions about them are not kept."""

SECURITY_TOPIC: Final = "__security"
"""The topic of users, credentials and rights."""

_GUARD: Final[dict[Operation, tuple[Operation, ...]]] = {
    Operation.READ: (Operation.CLUSTER_ACTION,),
    Operation.WRITE: (Operation.ALTER,),
    Operation.DESCRIBE: (Operation.CLUSTER_ACTION, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.CLUSTER_ACTION, Operation.ALTER),
}
"""The operations on the cluster that permit one on the topic of credentials."""

_READING: Final = frozenset({Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS})
"""The operations on an append-only topic that rules can allow."""

Question = tuple[Identity, Operation, ResourceType, str | None]
"""A name of None asks for any resource of the type."""


class AclAuthorizer:
    """An authorizer by access control lists; implements `Authorizer`."""

    def __init__(
        self,
        acls: AclIndex,
        *,
        super_users: Iterable[Principal] = (),
        everyone_if_no_acl: bool = False,
        on_refusal: Callable[[Identity, Operation, ResourceType, str], None] | None = None,
        append_only: Iterable[str] = (),
    ) -> None:
        self._acls = acls
        self._append_only = frozenset(append_only)
        self._super_users = frozenset(super_users)
        self._everyone_if_no_acl = everyone_if_no_acl
        self._on_refusal = on_refusal
        self._remembered: dict[Question, bool] = {}
        self._remembered_epoch = acls.epoch

    @property
    def epoch(self) -> int:
        """A number that grows when rules or roles change."""
        return self._acls.epoch

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        """Return whether `client` may perform `operation` on the resource of this name."""
        question = (client, operation, resource, name)
        decision = self._recall(question)
        if decision is None:
            decision = self._decide(client, operation, resource, name)
            if len(name) <= REMEMBERED_CHARACTERS_MAX:
                self._remembered[question] = decision
        return decision

    def allows_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        """Return whether there can be a resource of this type on which the operation is allowed.

        Kafka probes a fixed name instead of the effect of implied operations and of
        `allow.everyone.if.no.acl.found`; this answer is exact for both.
        """
        question = (client, operation, resource, None)
        decision = self._recall(question)
        if decision is None:
            decision = self._decide_any(client, operation, resource)
            self._remembered[question] = decision
        return decision

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        """Return the allowed operations of a resource as bits: 1 shifted by the code (KIP-430)."""
        bits = 0
        for operation in SUPPORTED.get(resource, ()):
            if self.allows(client, operation, resource, name):
                bits |= 1 << operation
        return bits

    def note_refusal(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        """Call `on_refusal`, which may write to an audit log."""
        if self._on_refusal is not None:
            self._on_refusal(client, operation, resource, name)

    def super_user(self, principal: Principal) -> bool:
        """Return whether a principal, or a role of it, is a super user."""
        # Not `User:*`: Kafka compares super users by name, and a wildcard there opens everything.
        _, _, *roles = self._acls.principals(principal)
        return not self._super_users.isdisjoint((principal, *roles))

    def _recall(self, question: Question) -> bool | None:
        if self._remembered_epoch != self._acls.epoch or len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
            self._remembered_epoch = self._acls.epoch
        return self._remembered.get(question)

    def _decide(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        if self.super_user(client.principal):
            return True
        if resource is ResourceType.TOPIC and name == SECURITY_TOPIC:
            cluster = ResourceType.CLUSTER, CLUSTER_NAME
            return any(self.allows(client, each, *cluster) for each in _GUARD.get(operation, ()))
        if operation not in _READING and self._is_append_only(resource, name):
            return False
        buckets = self._acls.buckets(resource, name)
        if not buckets:
            return self._everyone_if_no_acl
        allowed = False
        for acl in self._applicable(buckets, client, operation):
            if acl.permission is Permission.DENY:
                return False
            allowed = True
        return allowed

    def _is_append_only(self, resource: ResourceType, name: str) -> bool:
        return resource is ResourceType.TOPIC and name in self._append_only

    def _decide_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        if self.super_user(client.principal):
            return True
        if self._everyone_if_no_acl and not self._acls.covers_all(resource):
            return True  # There are always names that no rule covers.
        denied_prefixes: set[str] = set()
        denied_names: set[str] = set()
        allowed: list[Acl] = []
        for acl in self._applicable(self._acls.of_type(resource), client, operation):
            if acl.permission is Permission.ALLOW:
                allowed.append(acl)
            elif acl.pattern_type is PatternType.PREFIXED:
                denied_prefixes.add(acl.resource_name)
            elif acl.resource_name == EVERY_NAME:
                return False
            else:
                denied_names.add(acl.resource_name)
        return any(_leaves_a_name(acl, denied_names, denied_prefixes) for acl in allowed)

    def _applicable(
        self, buckets: Iterable[Bucket], client: Identity, operation: Operation
    ) -> Iterable[Acl]:
        """Yield the rules of the client for the operation."""
        principals, host = self._acls.principals(client.principal), plain_host(client.host)
        implying = IMPLYING.get(operation, (operation,))
        for bucket in buckets:
            for principal in principals:
                for acl in bucket.get(principal, ()):
                    if acl.host != EVERY_HOST and plain_host(acl.host) != host:
                        continue
                    granting = implying if acl.permission is Permission.ALLOW else (operation,)
                    if acl.operation is Operation.ALL or acl.operation in granting:
                        yield acl


def _leaves_a_name(acl: Acl, denied_names: set[str], denied_prefixes: set[str]) -> bool:
    """Return whether an ALLOW rule allows at least one name that no denial covers."""
    name = acl.resource_name
    if acl.pattern_type is PatternType.LITERAL:
        if name == EVERY_NAME:
            return "" not in denied_prefixes
        if name in denied_names:
            return False
    return not any(name.startswith(prefix) for prefix in denied_prefixes)
