"""Values of the records of `_schemas`.

Each is written with Confluent's fields in Confluent's order, without what is empty. They are also
the entries of the registry's state.

    SCHEMA          a version of a subject; deleted=true after a soft delete
    CONFIG, MODE    of a subject, of a context (`:.dev:`), or global (no subject)
    DELETE_SUBJECT  soft-deletes the versions of a subject up to a number
    CLEAR_SUBJECT   forgets the soft-deleted versions of a subject or context
    CONTEXT         a context that has, or had, subjects
    ASSOC           a subject belongs to a topic
    NOOP            nothing; Duolog stores the highest ids of hard-deleted schemas under such a key

Source: Confluent `SchemaValue`, `ConfigValue` and the like.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from duolog.registry.contracts import Metadata, RuleSet
from duolog.registry.json_text import Json
from duolog.schemas.schema import Reference


class Mode(Enum):
    """The writes that a subject accepts."""

    READWRITE = auto()
    READONLY = auto()
    READONLY_OVERRIDE = auto()
    FORWARD = auto()
    IMPORT = auto()

    @property
    def is_read_only(self) -> bool:
        """True if nothing may be written."""
        return self in {Mode.READONLY, Mode.READONLY_OVERRIDE}

    @property
    def is_import(self) -> bool:
        """True if the writer chooses ids and nothing is checked."""
        return self in {Mode.IMPORT, Mode.FORWARD}


class CompatibilityLevel(Enum):
    """The schemas of a subject that must read records of others."""

    NONE = auto()
    BACKWARD = auto()
    BACKWARD_TRANSITIVE = auto()
    FORWARD = auto()
    FORWARD_TRANSITIVE = auto()
    FULL = auto()
    FULL_TRANSITIVE = auto()


class CompatibilityPolicy(Enum):
    """The strictness of the comparison."""

    LOGICAL = auto()
    STRICT = auto()
    LENIENT = auto()


class Lifecycle(Enum):
    """STRONG: the subject belongs to its topic. WEAK: topics share it."""

    STRONG = auto()
    WEAK = auto()


@dataclass(frozen=True, slots=True)
class SchemaValue:
    """A version of a subject.

    Attributes:
        schema_id: None in records of a registry that wrote none.
        md5: the hash of its content before properties were encrypted; None if none were.
        timestamp: of the record, in milliseconds; no part of the record's value.
    """

    subject: str
    version: int
    schema_id: int | None
    schema: str
    schema_type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    deleted: bool = False
    md5: bytes | None = None
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A configuration; a field that is None is inherited."""

    alias: str | None = None
    alias_for_deks: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    compatibility_level: CompatibilityLevel | None = None
    compatibility_policy: CompatibilityPolicy | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    @property
    def has_defaults_or_overrides(self) -> bool:
        """True if a registration changes the metadata or rules of its schema."""
        parts = (self.default_metadata, self.override_metadata)
        return any(part is not None for part in (*parts, self.default_rule_set)) or (
            self.override_rule_set is not None
        )

    def to_json(self, level_name: str = "compatibilityLevel") -> dict[str, Json]:
        """Return the JSON form, without fields that are None."""
        level, policy = self.compatibility_level, self.compatibility_policy
        form: dict[str, Json] = {
            "alias": self.alias or None,
            "aliasForDeks": self.alias_for_deks or None,
            "normalize": self.normalize,
            "validateFields": self.validate_fields,
            "validateNewSchemas": self.validate_new_schemas,
            "validateRules": self.validate_rules,
            level_name: level.name if level else None,
            "compatibilityPolicy": policy.name if policy else None,
            "compatibilityGroup": self.compatibility_group or None,
        }
        for name, part in (
            ("defaultMetadata", self.default_metadata),
            ("overrideMetadata", self.override_metadata),
            ("defaultRuleSet", self.default_rule_set),
            ("overrideRuleSet", self.override_rule_set),
        ):
            form[name] = part.to_json() if part is not None else None
        return {name: value for name, value in form.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ModeValue:
    """A mode."""

    mode: Mode


@dataclass(frozen=True, slots=True)
class DeleteSubjectValue:
    """The versions up to `version` are soft-deleted."""

    version: int


@dataclass(frozen=True, slots=True)
class ClearSubjectValue:
    """The soft-deleted versions are forgotten."""


@dataclass(frozen=True, slots=True)
class ContextValue:
    """The context is known."""


@dataclass(frozen=True, slots=True)
class AssociationValue:
    """A subject of a resource.

    Attributes:
        create_timestamp: of the first record; None in this first record itself.
        timestamp: of the record, in milliseconds; no part of the record's value.
    """

    guid: str
    resource_name: str
    resource_namespace: str
    resource_id: str
    resource_type: str
    association_type: str
    subject: str
    lifecycle: Lifecycle
    frozen: bool = False
    create_timestamp: int | None = None
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class HighestIdsValue:
    """The highest ids of schemas that are hard-deleted, by context; none is given out again."""

    ids: Mapping[str, int] = field(default_factory=dict)


Value = (
    SchemaValue
    | ConfigValue
    | ModeValue
    | DeleteSubjectValue
    | ClearSubjectValue
    | ContextValue
    | AssociationValue
    | HighestIdsValue
)
