"""Create, describe and delete access control lists.

Kafka's APIs neither show nor change rules about types of resources that only Duolog has.

Source: Kafka `AclControlManager`, `AclBindingFilter`, `ResourcePatternFilter`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acls import EVERY_NAME, Acl, PatternType, Permission
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.changes.problem import Problem
from duolog.security.identity.principal import Principal
from duolog.security.state.security_state import SecurityState

TEXT_CHARACTERS_MAX = 1024
"""The length of a name, principal or host: a record must stay small."""


class WantedAcl(NamedTuple):
    """A rule as a request has it: Kafka's codes and texts."""

    resource_type: int
    pattern_type: int
    resource_name: str
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """The rules that a request is about; None and ANY match everything."""

    resource_type: int
    pattern_type: int
    resource_name: str | None
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        """Return whether a rule is one of them."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, str(acl.principal))
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type == PatternType.MATCH:
            return self.resource_name is None or acl.covers(self.resource_name)
        if self.pattern_type not in (PatternType.ANY, acl.pattern_type):
            return False
        return self.resource_name in (None, acl.resource_name)


def acl_of(wanted: WantedAcl) -> Acl | Problem:
    """Return the rule to create, or why it cannot be created."""
    texts = (wanted.resource_name, wanted.principal, wanted.host)
    if problem := _wrong_codes(wanted) or _wrong_texts(texts):
        return Problem(ErrorCode.INVALID_REQUEST, problem)
    try:
        principal = Principal.parse(wanted.principal)
    except ValueError:
        return Problem(
            ErrorCode.INVALID_REQUEST,
            f'could not parse principal "{wanted.principal}": expected KIND:NAME',
        )
    resource_type = ResourceType(wanted.resource_type)
    if resource_type is ResourceType.CLUSTER and wanted.resource_name not in (
        CLUSTER_NAME,
        EVERY_NAME,
    ):
        return Problem(
            ErrorCode.INVALID_REQUEST, f"the only valid name of the cluster is {CLUSTER_NAME}"
        )
    return Acl(
        resource_type,
        PatternType(wanted.pattern_type),
        wanted.resource_name,
        principal,
        wanted.host,
        Operation(wanted.operation),
        Permission(wanted.permission),
    )


def filter_problem(wanted: AclFilter) -> Problem | None:
    """Return the error of a filter with a code that this version does not know."""
    known = (
        _known(ResourceType, wanted.resource_type)
        and _known(PatternType, wanted.pattern_type)
        and _known(Operation, wanted.operation)
        and _known(Permission, wanted.permission)
    )
    return None if known else Problem(ErrorCode.INVALID_REQUEST, "filter has an unknown code")


def matching(state: SecurityState, wanted: AclFilter) -> Iterator[Acl]:
    """Yield the rules that Kafka's APIs show and that match a filter."""
    for acl in state.acls:
        if acl.resource_type < ResourceType.SUBJECT and wanted.matches(acl):
            yield acl


def _known(enum: type[ResourceType | PatternType | Operation | Permission], code: int) -> bool:
    return code in list(enum) and code != 0


def _wrong_codes(wanted: WantedAcl) -> str | None:
    lowest = ResourceType.TOPIC
    if not lowest <= wanted.resource_type < ResourceType.SUBJECT or not _known(
        ResourceType, wanted.resource_type
    ):
        return f"invalid resource type {wanted.resource_type}"
    if wanted.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"invalid pattern type {wanted.pattern_type}"
    if wanted.operation < Operation.ALL or not _known(Operation, wanted.operation):
        return f"invalid operation {wanted.operation}"
    if wanted.permission not in (Permission.ALLOW, Permission.DENY):
        return f"invalid permission {wanted.permission}"
    return None


def _wrong_texts(texts: tuple[str, str, str]) -> str | None:
    name, _principal, host = texts
    if not name:
        return "resource name must not be empty"
    if not host:
        return "host must not be empty"
    if max(map(len, texts)) > TEXT_CHARACTERS_MAX:
        return f"name, principal and host have at most {TEXT_CHARACTERS_MAX} characters"
    return None
