"""Find rules that would have no effect: a denial of this kind would look like protection.

Source: Kafka `AclCommand`, which checks operations as well.
"""

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


def ineffective(rule: Acl) -> str:
    """Return why a rule can have no effect, and what to write instead; empty if it can have one.

    Example:
        >>> from duolog.security.authorization.acls import Permission
        >>> from duolog.security.identity.principal import Principal
        >>> rule = Acl(ResourceType.TOPIC, PatternType.LITERAL, "a", Principal("User", "ann"), "*",
        ...     Operation.CREATE_TOKENS, Permission.ALLOW)
        >>> ineffective(rule).partition(";")[0]
        'a topic has no operation CREATE_TOKENS'
        >>> ineffective(rule._replace(operation=Operation.READ))
        ''
    """
    kind, name = rule.resource_type, rule.resource_name
    if rule.principal.kind not in {USER, ROLE}:
        return f'"{rule.principal}" is not a user or a role; write User:NAME or Role:NAME'
    if rule.host != EVERY_HOST and not is_address(rule.host):
        return f'"{rule.host}" is not an IP address; ranges are not supported'
    alone = rule.pattern_type is PatternType.LITERAL and name == EVERY_NAME
    if kind is ResourceType.TOPIC and EVERY_NAME in name and not alone:
        return f'no topic is called "{name}"; use the name * for all topics, or a prefix'
    known = SUPPORTED[kind]
    if rule.operation is not Operation.ALL and rule.operation not in known:
        what = kind.name.lower().replace("_", " ")
        names = ", ".join(each.name for each in known)
        return f"a {what} has no operation {rule.operation.name}; choose among ALL, {names}"
    return ""
