"""Records of `_schemas` as bytes."""

import base64
from collections.abc import Iterable

from duolog.registry.json_text import Json, dump
from duolog.registry.names import TENANT
from duolog.registry.records.keys import (
    HIGHEST_IDS,
    AssociationKey,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    ForeignKey,
    HighestIdsKey,
    Key,
    ModeKey,
    NoopKey,
    SchemaKey,
)
from duolog.registry.records.record import Record
from duolog.registry.records.values import (
    AssociationValue,
    ClearSubjectValue,
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    HighestIdsValue,
    ModeValue,
    SchemaValue,
    Value,
)
from duolog.schemas.schema import Reference


def encode(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record."""
    value = None if record.value is None else dump(_value(record.key, record.value)).encode()
    return encode_key(record.key), value


def encode_key(key: Key) -> bytes:
    """Return the bytes of a key."""
    return key.raw if isinstance(key, ForeignKey) else dump(_key(key)).encode()


def references_to_json(references: Iterable[Reference]) -> list[Json]:
    """Return references as the registry writes them."""
    return [
        {"name": part.name, "subject": part.subject, "version": part.version} for part in references
    ]


def _key(key: Key) -> dict[str, Json]:
    form: dict[str, Json]
    match key:
        case SchemaKey(subject, version):
            form = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
        case ConfigKey(subject):
            form = {"keytype": "CONFIG", "subject": subject, "magic": 0}
        case ModeKey(subject):
            form = {"keytype": "MODE", "subject": subject, "magic": 0}
        case DeleteSubjectKey(subject):
            form = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
        case ClearSubjectKey(subject):
            form = {"keytype": "CLEAR_SUBJECT", "subject": subject, "magic": 0}
        case ContextKey(context):
            form = {"keytype": "CONTEXT", "tenant": TENANT, "context": context, "magic": 0}
        case AssociationKey():
            form = {
                "keytype": "ASSOC",
                "tenant": TENANT,
                "resourceName": key.resource_name,
                "resourceNamespace": key.resource_namespace,
                "resourceType": key.resource_type,
                "associationType": key.association_type,
                "subject": key.subject,
                "magic": 0,
            }
        case NoopKey():
            form = {"keytype": "NOOP", "magic": 0}
        case ForeignKey():
            raise AssertionError("these bytes are kept as they are")
        case HighestIdsKey():
            form = {"keytype": "NOOP", "subject": HIGHEST_IDS, "magic": 0}
    return {name: value for name, value in form.items() if value not in {None, ""}}


def _value(key: Key, value: Value) -> dict[str, Json]:  # noqa: PLR0911 - one for each kind
    subject = getattr(key, "subject", None)
    own: dict[str, Json] = {"subject": subject} if subject else {}
    match value:
        case SchemaValue():
            return _schema(value)
        case ConfigValue():
            return own | value.to_json()
        case ModeValue(mode):
            return own | {"mode": mode.name}
        case DeleteSubjectValue(version):
            return own | {"version": version}
        case ClearSubjectValue():
            return own
        case ContextValue():
            assert isinstance(key, ContextKey)
            return {"tenant": TENANT, "context": key.context}
        case AssociationValue():
            return _association(value)
        case HighestIdsValue(ids):
            return {"maxIds": dict(ids)}


def _schema(value: SchemaValue) -> dict[str, Json]:
    form: dict[str, Json] = {
        "subject": value.subject,
        "version": value.version,
        "id": value.schema_id,
        "md5": None if value.md5 is None else base64.b64encode(value.md5).decode(),
        "schemaType": value.schema_type,
        "references": references_to_json(value.references) or None,
        "metadata": None if value.metadata is None else value.metadata.to_json(),
        "ruleSet": None if value.rule_set is None else value.rule_set.to_json(),
        "schema": value.schema,
        "deleted": value.deleted,
    }
    return {name: part for name, part in form.items() if part is not None}


def _association(value: AssociationValue) -> dict[str, Json]:
    form: dict[str, Json] = {
        "guid": value.guid,
        "tenant": TENANT,
        "resourceName": value.resource_name,
        "resourceNamespace": value.resource_namespace,
        "resourceId": value.resource_id,
        "resourceType": value.resource_type,
        "associationType": value.association_type,
        "subject": value.subject,
        "lifecycle": value.lifecycle.name,
        "frozen": value.frozen,
        "createTs": value.create_timestamp,
    }
    return {name: part for name, part in form.items() if part is not None}
