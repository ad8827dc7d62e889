"""Requests to the registry, read from their JSON bodies.

Each `from_json` takes the parsed body and raises the `RequestError` that the client gets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar

from duolog.registry import fields as read
from duolog.registry.contracts import Metadata, RuleSet
from duolog.registry.errors import invalid_schema, malformed
from duolog.registry.fields import FieldError, Fields
from duolog.registry.json_text import Json
from duolog.schemas.schema import Reference

T = TypeVar("T")

Entity = tuple[str, str]


def read_body(body: Json, read_fields: Callable[[Fields], T]) -> T:
    """Read the body of a request.

    Raises:
        RequestError: 400, if the body has another form.
    """
    try:
        return read_fields(read.as_fields(body, "request"))
    except FieldError as error:
        raise malformed(f"Cannot read the request: {error}") from error


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list: `limit` entries after the first `offset`; a limit of 0 or less means all.

    Long lists have a limit anyhow, see `RulesSettings`.
    """

    offset: int = 0
    limit: int = -1


@dataclass(frozen=True, slots=True)
class EntityTags:
    """Tags of a record or field: `entity_type` is `sr_record` or `sr_field`."""

    entity_path: str
    entity_type: str
    tags: tuple[str, ...]

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read `{"schemaEntity": {"entityPath": …, "entityType": …}, "tags": […]}`."""
        entity = read.mapping(fields, "schemaEntity") or {}
        path, kind = read.text(entity, "entityPath"), read.text(entity, "entityType")
        if path is None or kind not in {"sr_record", "sr_field"}:
            raise FieldError("schemaEntity: needs an entityPath, and sr_record or sr_field")
        return cls(path, kind, read.texts(fields, "tags"))


def by_entity(tags: tuple[EntityTags, ...]) -> dict[Entity, tuple[str, ...]]:
    """Return the tags by type and path, without the dot that a path may begin with."""
    found: dict[Entity, tuple[str, ...]] = {}
    for entry in tags:
        entity = (entry.entity_type, entry.entity_path.removeprefix("."))
        found[entity] = tuple(dict.fromkeys((*found.get(entity, ()), *entry.tags)))
    return found


@dataclass(frozen=True, slots=True)
class RegisterRequest:
    """A schema to register, to look up or to check.

    Attributes:
        schema: None or blank repeats the schema of the latest version.
        version: None or 0 for the next one, -1 to get the property `confluent:version`.
        schema_id: None or negative for a new one; otherwise the mode must be IMPORT.
        tags_to_add: tags to write into the schema first.
        propagate_tags: also write the tags of the latest version into the schema.
    """

    schema: str | None = None
    schema_type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    version: int | None = None
    schema_id: int | None = None
    tags_to_add: tuple[EntityTags, ...] = ()
    tags_to_remove: tuple[EntityTags, ...] = ()
    propagate_tags: bool = False

    @classmethod
    def from_json(cls, body: Json) -> Self:
        """Read the body of a registration, look-up or compatibility check.

        Raises:
            RequestError: 400 for another form, 42201 for an incomplete reference.
        """
        return read_body(body, cls.from_fields)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of the body."""
        return cls(
            schema=read.text(fields, "schema"),
            schema_type=read.text(fields, "schemaType") or "AVRO",
            references=read.nested_list(fields, "references", _reference),
            metadata=read.nested(fields, "metadata", Metadata.from_json),
            rule_set=read.nested(fields, "ruleSet", RuleSet.from_json),
            version=read.integer(fields, "version"),
            schema_id=read.integer(fields, "id"),
            tags_to_add=read.nested_list(fields, "schemaTagsToAdd", EntityTags.from_fields),
            tags_to_remove=read.nested_list(fields, "schemaTagsToRemove", EntityTags.from_fields),
            propagate_tags=bool(read.boolean(fields, "propagateSchemaTags")),
        )


def _reference(fields: Fields) -> Reference:
    name, subject = read.text(fields, "name"), read.text(fields, "subject")
    version = read.integer(fields, "version")
    if name is None or subject is None or version is None:
        shown = [part if part is not None else "null" for part in (name, subject, version)]
        raise invalid_schema(
            "Invalid reference: {{name='{}', subject='{}', version={}}}".format(*shown)
        )
    return Reference(name, subject, version)


@dataclass(frozen=True, slots=True)
class TagRequest:
    """New tags, metadata or rules for a version, which become the next version.

    Attributes:
        new_version: the version that this must become; it is written into the metadata.
        rules_to_merge: rules to add to those of the version before; excludes `rule_set`.
        rules_to_remove: names of rules to take away from them; excludes `rule_set`.
    """

    new_version: int | None = None
    tags_to_add: tuple[EntityTags, ...] = ()
    tags_to_remove: tuple[EntityTags, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    rules_to_merge: RuleSet | None = None
    rules_to_remove: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, body: Json) -> Self:
        """Read the body.

        Raises:
            RequestError: 400 for another form.
        """
        return read_body(body, cls.from_fields)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of the body."""
        removed = read.texts(fields, "rulesToRemove")
        return cls(
            new_version=read.integer(fields, "newVersion"),
            tags_to_add=read.nested_list(fields, "tagsToAdd", EntityTags.from_fields),
            tags_to_remove=read.nested_list(fields, "tagsToRemove", EntityTags.from_fields),
            metadata=read.nested(fields, "metadata", Metadata.from_json),
            rule_set=read.nested(fields, "ruleSet", RuleSet.from_json),
            rules_to_merge=read.nested(fields, "rulesToMerge", RuleSet.from_json),
            rules_to_remove=removed if fields.get("rulesToRemove") is not None else None,
        )


ConfigField = str | bool | Metadata | RuleSet | None

# Name in JSON -> reader. The name of the attribute of a configuration is the same in snake case.
_CONFIG_FIELDS: Final[Mapping[str, tuple[str, Callable[[Fields, str], ConfigField]]]] = {
    "alias": ("alias", read.text),
    "aliasForDeks": ("alias_for_deks", read.text),
    "normalize": ("normalize", read.boolean),
    "validateFields": ("validate_fields", read.boolean),
    "validateNewSchemas": ("validate_new_schemas", read.boolean),
    "validateRules": ("validate_rules", read.boolean),
    "compatibility": ("compatibility_level", read.text),
    "compatibilityPolicy": ("compatibility_policy", read.text),
    "compatibilityGroup": ("compatibility_group", read.text),
    "defaultMetadata": (
        "default_metadata",
        lambda f, name: read.nested(f, name, Metadata.from_json),
    ),
    "overrideMetadata": (
        "override_metadata",
        lambda f, name: read.nested(f, name, Metadata.from_json),
    ),
    "defaultRuleSet": ("default_rule_set", lambda f, name: read.nested(f, name, RuleSet.from_json)),
    "overrideRuleSet": (
        "override_rule_set",
        lambda f, name: read.nested(f, name, RuleSet.from_json),
    ),
}


@dataclass(frozen=True, slots=True)
class ConfigRequest:
    """Changes of a configuration: the fields that the client names; None takes a field away."""

    changes: Mapping[str, ConfigField] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Json) -> Self:
        """Read the body.

        Raises:
            RequestError: 400 for another form.
        """
        return read_body(body, cls.from_fields)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of the body."""
        return cls(
            {
                attribute: read_field(fields, name)
                for name, (attribute, read_field) in _CONFIG_FIELDS.items()
                if name in fields
            }
        )


@dataclass(frozen=True, slots=True)
class ModeRequest:
    """A new mode, as the client writes it; None takes the mode away."""

    mode: str | None

    @classmethod
    def from_json(cls, body: Json) -> Self:
        """Read the body.

        Raises:
            RequestError: 400 for another form.
        """
        return read_body(body, cls.from_fields)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of the body."""
        if "mode" not in fields:
            raise FieldError("mode: is missing")
        return cls(read.text(fields, "mode"))
