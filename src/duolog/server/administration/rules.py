"""Rules in requests: one for each principal and operation, on resources of one pattern.

{"principals": ["User:ann"], "operations": ["READ", "DESCRIBE"], "resource": "topic",
 "name": "orders-", "pattern": "prefixed", "permission": "allow", "host": "*"}
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, TypeVar

from duolog.registry.names import normalized
from duolog.security.authorization.acls import (
    EVERY_HOST,
    EVERY_NAME,
    Acl,
    PatternType,
    Permission,
)
from duolog.security.authorization.effective_rules import ineffective
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Principal
from duolog.server.administration.requests import list_in, read_object, text_in
from duolog.server.errors import RequestRefused

RULES_MAX: Final = 100
_NAME_CHARACTERS_MAX: Final = 1_000
_MEMBERS: Final = (
    "principals",
    "operations",
    "resource",
    "name",
    "pattern",
    "permission",
    "host",
)
_PATTERNS: Final = (PatternType.LITERAL, PatternType.PREFIXED)
_PERMISSIONS: Final = (Permission.ALLOW, Permission.DENY)
_RESOURCES: Final = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.SUBJECT,
    ResourceType.SOURCE,
)
_OPERATIONS: Final = tuple(
    one
    for one in Operation
    if one not in (Operation.UNKNOWN, Operation.ANY, Operation.TWO_PHASE_COMMIT)
)

Choice = TypeVar("Choice", bound=IntEnum)


def read_rules(body: bytes) -> list[Acl]:
    """Return the rules of a body, each with an effect.

    Raises:
        RequestRefused: the body is not of this form, or a rule would have no effect.
    """
    return rules_in(read_object(body, _MEMBERS))


def rules_in(given: Mapping[str, Any]) -> list[Acl]:
    """Return the rules of an object; raises as `read_rules`."""
    kind = _choice(given, "resource", _RESOURCES)
    pattern = _choice(given, "pattern", _PATTERNS, otherwise=PatternType.LITERAL)
    permission = _choice(given, "permission", _PERMISSIONS, otherwise=Permission.ALLOW)
    host = text_in(given, "host", otherwise=EVERY_HOST) or EVERY_HOST
    name = _name(given, kind)
    principals = [_principal(one) for one in list_in(given, "principals")]
    operations = [_among("operations", one, _OPERATIONS) for one in list_in(given, "operations")]
    if not principals or not operations:
        raise RequestRefused("Name at least one principal and one operation")
    if len(principals) * len(operations) > RULES_MAX:
        raise RequestRefused(f"A request may name at most {RULES_MAX} rules")
    rules = [
        Acl(kind, pattern, name, principal, host, operation, permission)
        for principal in principals
        for operation in operations
    ]
    for rule in rules:
        if problem := ineffective(rule):
            raise RequestRefused(f"A rule would have no effect: {problem}")
    return rules


def _name(given: Mapping[str, Any], kind: ResourceType) -> str:
    if kind is ResourceType.CLUSTER:
        return text_in(given, "name", otherwise=CLUSTER_NAME) or CLUSTER_NAME
    name = text_in(given, "name")
    if len(name) > _NAME_CHARACTERS_MAX or not name.isprintable():
        raise RequestRefused("name is too long, or has characters that cannot be printed")
    if kind is ResourceType.SUBJECT and name != EVERY_NAME:
        return normalized(name)
    return name


def _principal(given: object) -> Principal:
    if not isinstance(given, str) or not given.isprintable():
        raise RequestRefused("principals must be texts, such as User:ann or Role:writers")
    try:
        return Principal.parse(given)
    except ValueError as error:
        raise RequestRefused(f"{error}; write User:NAME or Role:NAME") from error


def _choice(
    given: Mapping[str, Any],
    name: str,
    choices: tuple[Choice, ...],
    otherwise: Choice | None = None,
) -> Choice:
    if otherwise is not None and name not in given:
        return otherwise
    return _among(name, given.get(name), choices)


def _among(name: str, given: object, choices: tuple[Choice, ...]) -> Choice:
    known = {one.name.lower(): one for one in choices}
    found = known.get(given.lower()) if isinstance(given, str) else None
    if found is None:
        raise RequestRefused(f"{name} must be one of {', '.join(known)}")
    return found
