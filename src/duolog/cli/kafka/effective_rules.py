"""Refuse rules that would have no effect: a denial of this kind would look like protection.

Source: Kafka `AclCommand`, which checks operations as well.
"""

import click

from duolog.core.listening import is_address
from duolog.security.authorization.acls import (
    EVERY_HOST,
    EVERY_NAME,
    SUPPORTED,
    Acl,
    PatternType,
)
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import ROLE, USER


def ensure_effective(rule: Acl) -> None:
    """Return if a rule can have an effect.

    Raises:
        UsageError: it cannot; the message says what to write instead.
    """
    kind, name = rule.resource_type, rule.resource_name
    if rule.principal.kind not in {USER, ROLE}:
        raise click.UsageError(
            f'"{rule.principal}" is not a user or a role; write User:NAME or Role:NAME'
        )
    if rule.host != EVERY_HOST and not is_address(rule.host):
        raise click.UsageError(f'"{rule.host}" is not an IP address; ranges are not supported')
    alone = rule.pattern_type is PatternType.LITERAL and name == EVERY_NAME
    if kind is ResourceType.TOPIC and EVERY_NAME in name and not alone:
        raise click.UsageError(
            f"no topic is called \"{name}\"; write --topic '*' for all, or --topic NAME --prefix"
        )
    known = SUPPORTED[kind]
    if rule.operation is not Operation.ALL and rule.operation not in known:
        what = kind.name.lower().replace("_", " ")
        names = ", ".join(each.name for each in known)
        raise click.UsageError(
            f"a {what} has no operation {rule.operation.name}; choose among ALL, {names}"
        )
