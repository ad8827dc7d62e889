"""Access control lists of a cluster: those about Kafka's resources, and about Duolog's own.

    topic, group, cluster, transactional id    DescribeAcls, CreateAcls, DeleteAcls
    subject, source                            the topic `__security`, which only Duolog has

Source: KIP-140, KIP-290.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from duolog.core.errors import KafkaError
from duolog.runtime.administration.rights import ensure_answered
from duolog.runtime.administration.security_topic import UNKNOWN_TOPIC
from duolog.runtime.administration.wire import Wire
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.records.records import AclChange, Change
from duolog.security.state.security_state import SecurityState

IN_KAFKA: Final = frozenset(
    {
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.CLUSTER,
        ResourceType.TRANSACTIONAL_ID,
    }
)
"""Types of resources whose rules Kafka's requests carry."""
_DESCRIBE: Final = (29, 1)
_CREATE: Final = (30, 1)
_DELETE: Final = (31, 1)
_DISABLED: Final = 54
_NOT_FOUND: Final = 91


class ShownRule(NamedTuple):
    """A rule in words; a newer broker may have types and operations that are not known here."""

    resource: str
    name: str
    pattern: str
    permission: str
    operation: str
    principal: str
    host: str


def rules_in_kafka(wire: Wire) -> list[ShownRule]:
    """Return all rules about Kafka's resources.

    Raises:
        KafkaError: no broker answers, or the user may not read the rules.
    """
    # The client of confluent-kafka 2.16 returns an empty list if the broker refuses this request.
    answer = wire.ask(
        *_DESCRIBE,
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    ensure_answered(answer, "read the list of rules")
    return [
        ShownRule(
            _name(ResourceType, found.resource_type).lower(),
            found.resource_name,
            _name(PatternType, found.pattern_type).lower(),
            _name(Permission, rule.permission_type).lower(),
            _name(Operation, rule.operation),
            rule.principal,
            rule.host,
        )
        for found in answer.resources
        for rule in found.acls
    ]


def shown(rule: Acl) -> ShownRule:
    """Return a rule in words."""
    return ShownRule(
        rule.resource_type.name.lower(),
        rule.resource_name,
        rule.pattern_type.name.lower(),
        rule.permission.name.lower(),
        rule.operation.name,
        str(rule.principal),
        rule.host,
    )


class Rules:
    """The rules of a cluster.

    Args:
        connect: opens a connection to the cluster.
        state: reads the topic `__security`.
        append: writes to it.

    Every method raises a KafkaError if no broker answers, or if it refuses.
    """

    def __init__(
        self,
        connect: Callable[[], Wire],
        state: Callable[[], SecurityState],
        append: Callable[[Iterable[Change]], None],
    ) -> None:
        self._connect = connect
        self._state = state
        self._append = append

    def described(self) -> list[ShownRule] | None:
        """Return all rules, sorted; None if the cluster has no authorizer."""
        try:
            with self._connect() as wire:
                found = rules_in_kafka(wire)
        except KafkaError as error:
            if error.code == _DISABLED:
                return None
            raise
        return sorted([*found, *map(shown, self._own())])

    def add(self, rules: Sequence[Acl]) -> None:
        """Add rules; one that exists already stays."""
        in_kafka = [_creation(rule) for rule in rules if rule.resource_type in IN_KAFKA]
        if in_kafka:
            with self._connect() as wire:
                answer = wire.ask(*_CREATE, creations=in_kafka)
            for row in answer.results:
                ensure_answered(row, "add a rule")
        if own := [rule for rule in rules if rule.resource_type not in IN_KAFKA]:
            self._append([AclChange(rule, present=True) for rule in own])

    def remove(self, rules: Sequence[Acl]) -> int:
        """Remove exactly these rules, and return the number of those that there were.

        Also raises if there is none of them.
        """
        removed = self._remove_in_kafka([rule for rule in rules if rule.resource_type in IN_KAFKA])
        if own := [rule for rule in rules if rule.resource_type not in IN_KAFKA]:
            present = set(self._own())
            if found := [rule for rule in own if rule in present]:
                self._append([AclChange(rule, present=False) for rule in found])
                removed += len(found)
        if not removed:
            raise KafkaError(
                "no rule matches; nothing is removed",
                code=_NOT_FOUND,
                hint="Principal, operation, name, pattern and host must be the same.",
            )
        return removed

    def _remove_in_kafka(self, rules: Sequence[Acl]) -> int:
        if not rules:
            return 0
        with self._connect() as wire:
            answer = wire.ask(*_DELETE, filters=list(map(_filter, rules)))
        removed = 0
        for row in answer.filter_results:
            ensure_answered(row, "remove a rule")
            for found in row.matching_acls:
                ensure_answered(found, "remove a rule")
                removed += 1
        return removed

    def _own(self) -> list[Acl]:
        """Return the rules about Duolog's own resources; none in a cluster of Apache Kafka."""
        try:
            state = self._state()
        except KafkaError as error:
            if error.code == UNKNOWN_TOPIC:
                return []
            raise
        return [rule for rule in state.acls if rule.resource_type not in IN_KAFKA]


def _creation(rule: Acl) -> dict[str, Any]:
    return {
        "resource_type": int(rule.resource_type),
        "resource_name": rule.resource_name,
        "resource_pattern_type": int(rule.pattern_type),
        "principal": str(rule.principal),
        "host": rule.host,
        "operation": int(rule.operation),
        "permission_type": int(rule.permission),
    }


def _filter(rule: Acl) -> dict[str, Any]:
    return {
        "resource_type_filter": int(rule.resource_type),
        "resource_name_filter": rule.resource_name,
        "pattern_type_filter": int(rule.pattern_type),
        "principal_filter": str(rule.principal),
        "host_filter": rule.host,
        "operation": int(rule.operation),
        "permission_type": int(rule.permission),
    }


def _name(kind: type[IntEnum], code: int) -> str:
    """Return the name of a code; a newer broker may send others."""
    return {each.value: each.name for each in kind}.get(code, f"UNKNOWN_{code}")
