"""Check records that clients append to `__security` themselves.

Clients may append tokens, members of roles, and rules about types of resources that no Kafka API
carries. Everything else comes from Kafka's APIs, whose rules it must not bypass.
"""

from duolog.security.authorization.operations import ResourceType
from duolog.security.identity.principal import USER
from duolog.security.records.records import (
    AclChange,
    Change,
    InvalidSecurityRecord,
    RoleMemberChange,
    TokenChange,
    decode,
    encode,
)


def check_client_record(key: bytes | None, value: bytes | None) -> Change:
    """Return the change of a record from a client.

    Raises:
        InvalidSecurityRecord: the record is malformed, or clients may not append it.
    """
    change = decode(key, value)
    match change:
        case TokenChange(_, token) if token is None or token.principal.kind == USER:
            pass
        case RoleMemberChange():
            pass
        case AclChange(acl) if acl.resource_type >= ResourceType.SUBJECT:
            pass
        case _:
            raise InvalidSecurityRecord(
                "clients may append only tokens of users, role members and rules about subjects"
            )
    if encode(change).key != key:
        # Another spelling of the key would be another key for compaction.
        raise InvalidSecurityRecord("key is not in the canonical form of JSON")
    return change
