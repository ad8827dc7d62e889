"""Keys of the records of `_schemas`.

A compaction compares keys by their bytes, so that the order of the fields and the missing spaces
are part of the format:

    {"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}
    {"keytype":"CONFIG","subject":"orders-value","magic":0}
    {"keytype":"CONFIG","magic":0}                                 the global configuration
    {"keytype":"MODE","subject":"orders-value","magic":0}
    {"keytype":"DELETE_SUBJECT","subject":"orders-value","magic":0}
    {"keytype":"CLEAR_SUBJECT","subject":"orders-value","magic":0}
    {"keytype":"CONTEXT","tenant":"default","context":".dev","magic":0}
    {"keytype":"ASSOC","tenant":"default","resourceName":"orders",…,"subject":"…","magic":0}
    {"keytype":"NOOP","magic":0}
    {"keytype":"NOOP","subject":"duolog.highest.ids","magic":0}    a NOOP for other registries

Karapace writes keys with other bytes as long as it finds a key whose fields are not, in this order,
keytype, subject, version and magic, or a part of these with keytype and magic.

Source: Confluent `SchemaKey` and the like.
"""

from dataclasses import dataclass
from typing import Final

HIGHEST_IDS: Final = "duolog.highest.ids"


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """A version of a subject."""

    subject: str
    version: int

    def __str__(self) -> str:
        # As the registry's error messages show it.
        return f"{{magic=1,keytype=SCHEMA,subject={self.subject},version={self.version}}}"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The configuration of a subject or context; None is the global one."""

    subject: str | None


@dataclass(frozen=True, slots=True)
class ModeKey:
    """The mode of a subject or context; None is the global one."""

    subject: str | None


@dataclass(frozen=True, slots=True)
class DeleteSubjectKey:
    """A soft delete of a subject."""

    subject: str


@dataclass(frozen=True, slots=True)
class ClearSubjectKey:
    """The subject or context whose deleted versions are forgotten; None means all."""

    subject: str | None


@dataclass(frozen=True, slots=True)
class ContextKey:
    """A context."""

    context: str


@dataclass(frozen=True, slots=True)
class AssociationKey:
    """A subject of a resource."""

    resource_name: str
    resource_namespace: str
    resource_type: str
    association_type: str
    subject: str


@dataclass(frozen=True, slots=True)
class NoopKey:
    """Nothing: a new leader writes such a record before it reads the topic to its end."""


@dataclass(frozen=True, slots=True)
class HighestIdsKey:
    """The highest ids; a NOOP for other registries, with bytes of its own."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """The bytes of a key as another registry wrote them; only ever deleted."""

    raw: bytes


Key = (
    SchemaKey
    | ConfigKey
    | ModeKey
    | DeleteSubjectKey
    | ClearSubjectKey
    | ContextKey
    | AssociationKey
    | NoopKey
    | HighestIdsKey
    | ForeignKey
)
