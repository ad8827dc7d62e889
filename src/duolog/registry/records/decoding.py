"""Records of `_schemas` from bytes, also of those that older registries wrote.

Accepted besides the form of `encoding`:

- any order of fields, and fields that are not known,
- keys of schemas with magic 0, and a null subject in keys of the global configuration,
- values without subject, version, id or deleted,
- an empty value as a tombstone, as Karapace writes it, and an empty record as a NOOP.
"""

import base64
import binascii
from typing import Final

from duolog.registry import fields as read
from duolog.registry.contracts import Metadata, RuleSet
from duolog.registry.errors import DamagedRecordError
from duolog.registry.fields import FieldError, Fields
from duolog.registry.json_text import load
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
from duolog.registry.records.record import BARRIER, Record
from duolog.registry.records.values import (
    AssociationValue,
    ClearSubjectValue,
    CompatibilityLevel,
    CompatibilityPolicy,
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    HighestIdsValue,
    Lifecycle,
    Mode,
    ModeValue,
    SchemaValue,
    Value,
)
from duolog.schemas.schema import Reference

_EMPTY: Final = (b"", b'""', b"null")


def decode(key: bytes | None, value: bytes | None) -> Record:
    """Return the record with this key and value.

    Raises:
        DamagedRecordError: the bytes are not those of a record of a schema registry.
    """
    if not key:
        if not value:
            return BARRIER
        raise DamagedRecordError("record without a key")
    try:
        decoded = _key(read.as_fields(load(key), "key"))
    except ValueError as error:
        raise DamagedRecordError("key that no registry writes", detail=str(error)) from error
    if value is None or value in _EMPTY or isinstance(decoded, NoopKey):
        return Record(decoded, None)
    try:
        return Record(decoded, _value(decoded, read.as_fields(load(value), "value")))
    except ValueError as error:
        raise DamagedRecordError(
            f"value that no registry writes, of {decoded}", detail=str(error)
        ) from error


def _key(fields: Fields) -> Key:  # noqa: PLR0911 - one return for each kind
    subject = read.text(fields, "subject") or None
    match read.text(fields, "keytype"):
        case "SCHEMA":
            if read.integer(fields, "magic") not in {0, 1}:
                raise FieldError("magic: must be 0 or 1")
            version = _needed(read.integer(fields, "version"), "version")
            if version < 1:
                raise FieldError("version: must be positive")
            return SchemaKey(subject or "", version)
        case "CONFIG":
            return ConfigKey(subject)
        case "MODE":
            return ModeKey(subject)
        case "DELETE_SUBJECT":
            return DeleteSubjectKey(subject or "")
        case "CLEAR_SUBJECT":
            return ClearSubjectKey(subject)
        case "CONTEXT":
            return ContextKey(_needed(read.text(fields, "context"), "context"))
        case "ASSOC":
            return AssociationKey(
                _needed(read.text(fields, "resourceName"), "resourceName"),
                _needed(read.text(fields, "resourceNamespace"), "resourceNamespace"),
                _needed(read.text(fields, "resourceType"), "resourceType"),
                _needed(read.text(fields, "associationType"), "associationType"),
                _needed(subject, "subject"),
            )
        case "NOOP":
            return HighestIdsKey() if subject == HIGHEST_IDS else NoopKey()
        case kind:
            raise FieldError(f"keytype: {kind} is not known")


def _value(key: Key, fields: Fields) -> Value:  # noqa: PLR0911 - one return for each kind
    match key:
        case SchemaKey():
            return _schema(key, fields)
        case ConfigKey():
            return _config(fields)
        case ModeKey():
            return ModeValue(_needed(read.choice(fields, "mode", Mode), "mode"))
        case DeleteSubjectKey():
            return DeleteSubjectValue(_needed(read.integer(fields, "version"), "version"))
        case ClearSubjectKey():
            return ClearSubjectValue()
        case ContextKey():
            return ContextValue()
        case AssociationKey():
            return _association(key, fields)
        case HighestIdsKey():
            found = read.mapping(fields, "maxIds") or {}
            return HighestIdsValue(
                {context: read.integer(found, context) or 0 for context in found}
            )
        case NoopKey() | ForeignKey():
            raise AssertionError("has no value")


def _schema(key: SchemaKey, fields: Fields) -> SchemaValue:
    schema_id = read.integer(fields, "id")
    if schema_id is not None and schema_id < 0:
        raise FieldError("id: must not be negative")
    md5 = read.text(fields, "md5")
    try:
        digest = None if md5 is None else base64.b64decode(md5, validate=True)
    except binascii.Error as error:
        raise FieldError(f"md5: {error}") from error
    return SchemaValue(
        subject=key.subject,
        version=key.version,
        schema_id=schema_id,
        schema=_needed(read.text(fields, "schema"), "schema"),
        schema_type=read.text(fields, "schemaType") or "AVRO",
        references=read.nested_list(fields, "references", _reference),
        metadata=read.nested(fields, "metadata", Metadata.from_json),
        rule_set=read.nested(fields, "ruleSet", RuleSet.from_json),
        deleted=bool(read.boolean(fields, "deleted")),
        md5=digest,
    )


def _reference(fields: Fields) -> Reference:
    return Reference(
        _needed(read.text(fields, "name"), "name"),
        _needed(read.text(fields, "subject"), "subject"),
        _needed(read.integer(fields, "version"), "version"),
    )


def _config(fields: Fields) -> ConfigValue:
    return ConfigValue(
        alias=read.text(fields, "alias"),
        alias_for_deks=read.text(fields, "aliasForDeks"),
        normalize=read.boolean(fields, "normalize"),
        validate_fields=read.boolean(fields, "validateFields"),
        validate_new_schemas=read.boolean(fields, "validateNewSchemas"),
        validate_rules=read.boolean(fields, "validateRules"),
        compatibility_level=read.choice(fields, "compatibilityLevel", CompatibilityLevel),
        compatibility_policy=read.choice(fields, "compatibilityPolicy", CompatibilityPolicy),
        compatibility_group=read.text(fields, "compatibilityGroup"),
        default_metadata=read.nested(fields, "defaultMetadata", Metadata.from_json),
        override_metadata=read.nested(fields, "overrideMetadata", Metadata.from_json),
        default_rule_set=read.nested(fields, "defaultRuleSet", RuleSet.from_json),
        override_rule_set=read.nested(fields, "overrideRuleSet", RuleSet.from_json),
    )


def _association(key: AssociationKey, fields: Fields) -> AssociationValue:
    return AssociationValue(
        guid=_needed(read.text(fields, "guid"), "guid"),
        resource_name=key.resource_name,
        resource_namespace=key.resource_namespace,
        resource_id=_needed(read.text(fields, "resourceId"), "resourceId"),
        resource_type=key.resource_type,
        association_type=key.association_type,
        subject=key.subject,
        lifecycle=_needed(read.choice(fields, "lifecycle", Lifecycle), "lifecycle"),
        frozen=bool(read.boolean(fields, "frozen")),
        create_timestamp=read.long(fields, "createTs"),
    )


def _needed(value: read.T | None, name: str) -> read.T:
    if value is None:
        raise FieldError(f"{name}: is missing")
    return value
