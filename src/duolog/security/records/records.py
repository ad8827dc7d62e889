"""Changes of users, rights, roles and tokens, as records: JSON keys and values, null = removed.

    {"kind":"user-scram","mechanism":"SCRAM-SHA-256","user":"alice"}
        {"iterations":8192,"salt":"…","serverKey":"…","storedKey":"…"}          base64
    {"kind":"acl","host":"*","operation":"READ","patternType":"LITERAL","permission":"ALLOW",
     "principal":"User:alice","resourceName":"orders","resourceType":"TOPIC"}      {}
    {"kind":"role-member","member":"User:alice","role":"writers"}                  {}
    {"kind":"token","id":"0f…"}
        {"createdAt":…,"description":"…","expiresAt":…|null,"principal":"User:alice","sha256":"…"}
    {"kind":"bootstrap"}                                      {"user":"admin"}
    {"kind":"decoy"}                                          {"secret":"…"}       base64

Keys have sorted names and no spaces: equal keys are equal bytes, so that compaction keeps one. A
record of an unknown kind is ignored, so that an older version can read the topic of a newer one.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from duolog.core.errors import KafkaError, LogError
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.credentials.scram import BY_NAME, ScramCredential, ScramMechanism
from duolog.security.credentials.tokens import Token
from duolog.security.identity.principal import ROLE, Principal

_DIGEST_DIGITS: Final = 64


class InvalidSecurityRecord(KafkaError):
    """A record that is not one of the topic `__security`."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message, code=ErrorCode.INVALID_RECORD, detail=detail)


class SecurityRecord(NamedTuple):
    """A key and a value; None removes what the key names."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class ScramChange:
    """A credential of a user, or its removal."""

    user: str
    mechanism: ScramMechanism
    credential: ScramCredential | None


@dataclass(frozen=True, slots=True)
class AclChange:
    """A rule, or its removal."""

    acl: Acl
    present: bool


@dataclass(frozen=True, slots=True)
class RoleMemberChange:
    """A member of a role, or its removal."""

    role: Principal
    member: Principal
    present: bool


@dataclass(frozen=True, slots=True)
class TokenChange:
    """A token, or its removal."""

    token_id: str
    token: Token | None


@dataclass(frozen=True, slots=True)
class BootstrapChange:
    """The note that the first administrator was created."""

    user: str | None


@dataclass(frozen=True, slots=True)
class DecoyChange:
    """The secret from which salts of unknown users are computed; see `sasl.decoys`."""

    secret: bytes | None


Change: TypeAlias = (
    ScramChange | AclChange | RoleMemberChange | TokenChange | BootstrapChange | DecoyChange
)


def encode(change: Change) -> SecurityRecord:
    """Return the record of a change."""
    match change:
        case ScramChange(user, mechanism, stored):
            key = {"kind": "user-scram", "user": user, "mechanism": mechanism.mechanism}
            return _record(key, stored and _scram_value(stored))
        case AclChange(acl, present):
            return _record(_acl_key(acl), {} if present else None)
        case RoleMemberChange(role, member, present):
            key = {"kind": "role-member", "role": role.name, "member": str(member)}
            return _record(key, {} if present else None)
        case TokenChange(token_id, token):
            return _record({"kind": "token", "id": token_id}, token and _token_value(token))
        case BootstrapChange(user):
            return _record({"kind": "bootstrap"}, None if user is None else {"user": user})
        case DecoyChange(secret):
            return _record(
                {"kind": "decoy"}, None if secret is None else {"secret": _base64(secret)}
            )


def decode(key: bytes | None, value: bytes | None) -> Change | None:
    """Return the change of a record; None if its kind is unknown.

    Raises:
        InvalidSecurityRecord: the record is malformed. The error repeats no part of it.
    """
    try:
        fields = _object(key)
        kind = fields.pop("kind")
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            return None
        return reader(fields, None if value is None else _object(value))
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        binascii.Error,
    ) as error:
        raise InvalidSecurityRecord(
            f'invalid record in topic "{SECURITY_TOPIC}"', detail=type(error).__name__
        ) from None  # The cause could show a part of a secret.


class SecurityRecordDamaged(LogError):
    """A record of the topic of users and rights has no meaning: without it, a rule may be lost."""

    def __init__(self, offset: int, cause: InvalidSecurityRecord) -> None:
        super().__init__(
            f"record {SECURITY_TOPIC}-0 at offset {offset} is damaged",
            detail=cause.detail,
            hint="Restore the topic from a backup of the broker's data directory.",
        )


def decode_stored(key: bytes | None, value: bytes | None, offset: int) -> Change | None:
    """Return the change of a record that was read from the topic; None if its kind is unknown.

    Raises:
        SecurityRecordDamaged: the record is malformed. The error repeats no part of it.
    """
    try:
        return decode(key, value)
    except InvalidSecurityRecord as error:
        raise SecurityRecordDamaged(offset, error) from None


Fields = dict[str, object]


def _object(data: bytes | None) -> Fields:
    found = json.loads(data or b"")
    if not isinstance(found, dict):
        raise TypeError
    return found


def _record(key: Fields | dict[str, str], value: Fields | None) -> SecurityRecord:
    return SecurityRecord(_json(key), None if value is None else _json(value))


def _json(fields: Fields | dict[str, str]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(fields: Fields, name: str) -> bytes:
    return base64.b64decode(_text(fields, name), validate=True)


def _text(fields: Fields, name: str, *, empty: bool = False) -> str:
    text = fields[name]
    if not isinstance(text, str) or not (text or empty):
        raise TypeError
    return text


def _integer(fields: Fields, name: str) -> int:
    number = fields[name]
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError
    return number


def _scram_value(stored: ScramCredential) -> Fields:
    return {
        "salt": _base64(stored.salt),
        "storedKey": _base64(stored.stored_key),
        "serverKey": _base64(stored.server_key),
        "iterations": stored.iterations,
    }


def _read_scram(key: Fields, value: Fields | None) -> Change:
    stored = None
    if value is not None:
        stored = ScramCredential(
            _bytes(value, "salt"),
            _bytes(value, "storedKey"),
            _bytes(value, "serverKey"),
            _integer(value, "iterations"),
        )
    return ScramChange(_text(key, "user"), BY_NAME[_text(key, "mechanism")], stored)


def _acl_key(acl: Acl) -> Fields:
    return {
        "kind": "acl",
        "resourceType": acl.resource_type.name,
        "patternType": acl.pattern_type.name,
        "resourceName": acl.resource_name,
        "principal": str(acl.principal),
        "host": acl.host,
        "operation": acl.operation.name,
        "permission": acl.permission.name,
    }


def _read_acl(key: Fields, value: Fields | None) -> Change:
    acl = Acl(
        ResourceType[_text(key, "resourceType")],
        PatternType[_text(key, "patternType")],
        _text(key, "resourceName"),
        Principal.parse(_text(key, "principal")),
        _text(key, "host"),
        Operation[_text(key, "operation")],
        Permission[_text(key, "permission")],
    )
    if (
        acl.resource_type < ResourceType.TOPIC
        or acl.pattern_type < PatternType.LITERAL
        or acl.operation < Operation.ALL
        or acl.permission < Permission.DENY
    ):
        raise ValueError
    return AclChange(acl, value is not None)


def _read_role_member(key: Fields, value: Fields | None) -> Change:
    role, member = Principal(ROLE, _text(key, "role")), Principal.parse(_text(key, "member"))
    return RoleMemberChange(role, member, value is not None)


def _token_value(token: Token) -> Fields:
    return {
        "sha256": token.digest,
        "principal": str(token.principal),
        "createdAt": token.created_at_ms,
        "expiresAt": token.expires_at_ms,
        "description": token.description,
    }


def _read_token(key: Fields, value: Fields | None) -> Change:
    token_id = _text(key, "id")
    if value is None:
        return TokenChange(token_id, None)
    digest = _text(value, "sha256")
    expires_at_ms = None if value["expiresAt"] is None else _integer(value, "expiresAt")
    token = Token(
        digest,
        Principal.parse(_text(value, "principal")),
        _integer(value, "createdAt"),
        expires_at_ms,
        _text(value, "description", empty=True),
    )
    if len(bytes.fromhex(digest)) * 2 != _DIGEST_DIGITS or token.token_id != token_id:
        raise ValueError
    return TokenChange(token_id, token)


def _read_bootstrap(_key: Fields, value: Fields | None) -> Change:
    return BootstrapChange(None if value is None else _text(value, "user"))


def _read_decoy(_key: Fields, value: Fields | None) -> Change:
    return DecoyChange(None if value is None else _bytes(value, "secret"))


_READERS: Final = {
    "user-scram": _read_scram,
    "acl": _read_acl,
    "role-member": _read_role_member,
    "token": _read_token,
    "bootstrap": _read_bootstrap,
    "decoy": _read_decoy,
}
