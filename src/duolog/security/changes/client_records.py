"""Check records that clients append to `__security` themselves.

Clients may append tokens, members of roles, and rules about types of resources that no Kafka API
carries. Everything else comes from Kafka's APIs, whose rules it must not bypass.

A record must be exactly what this version writes, so that it means the same to all who read it, now
and after a restart: no unknown fields, no other spelling, no number that a clock cannot have.
"""

from duolog.core.units import INT64_MAX
from duolog.security.authorization.operations import ResourceType
from duolog.security.changes.acls import TEXT_CHARACTERS_MAX
from duolog.security.credentials.tokens import Token
from duolog.security.identity.principal import ANONYMOUS, USER, WILDCARD, Principal
from duolog.security.records.records import (
    AclChange,
    Change,
    InvalidSecurityRecord,
    RoleMemberChange,
    TokenChange,
    decode,
    encode,
)
from duolog.security.state.security_state import ADMINISTRATORS


def check_client_record(key: bytes | None, value: bytes | None) -> Change:
    """Return the change of a record from a client.

    Raises:
        InvalidSecurityRecord: the record is malformed, or clients may not append it.
    """
    change = decode(key, value)
    match change:
        case TokenChange(_, token):
            usable = token is None or _is_usable(token)
        case RoleMemberChange(role, member, present):
            # What an earlier version let in can be removed.
            opens = role == ADMINISTRATORS and member == ANONYMOUS
            usable = not present or (_is_name(role.name) and _is_user(member) and not opens)
        case AclChange(acl) if acl.resource_type >= ResourceType.SUBJECT:
            usable = len(acl.resource_name) <= TEXT_CHARACTERS_MAX
        case _:
            raise InvalidSecurityRecord(
                "clients may append only tokens of users, role members and rules about subjects"
            )
    if not usable:
        raise InvalidSecurityRecord(
            "a token and a role belong to a user, whose name is printable and has at most "
            f"{TEXT_CHARACTERS_MAX} characters; clients without a login are no administrators"
        )
    if encode(change) != (key, value):
        raise InvalidSecurityRecord("record is not in the canonical form of JSON")
    return change


def _is_usable(token: Token) -> bool:
    times = (token.created_at_ms, token.expires_at_ms or 0)
    return (
        _is_user(token.principal)
        and all(0 <= each <= INT64_MAX for each in times)
        and len(token.description) <= TEXT_CHARACTERS_MAX
    )


def _is_user(principal: Principal) -> bool:
    """Return whether it is one user: a role has rights of its own, and `User:*` means all users."""
    return principal.kind == USER and principal.name != WILDCARD and _is_name(principal.name)


def _is_name(text: str) -> bool:
    return len(text) <= TEXT_CHARACTERS_MAX and text.isprintable()
