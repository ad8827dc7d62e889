"""Answers of the registry and their JSON forms.

Clients see fields in one of two forms. Without the header `Confluent-Accept-Unknown-Properties`
an answer has the fields that clients of any age know; with it (`extended`), those that were added
later: `guid`, `ts`, `deleted`, `schemaType` of Avro, and all of a registration but its `id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from duolog.registry.contracts import Metadata, RuleSet
from duolog.registry.json_text import Json
from duolog.registry.records.encoding import references_to_json
from duolog.registry.records.values import AssociationValue, ConfigValue, Lifecycle, Mode
from duolog.registry.rules.requests import EntityTags
from duolog.schemas.schema import Reference


@runtime_checkable
class JsonAnswer(Protocol):
    """An answer that is a JSON object."""

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object; `extended` adds the fields that older clients do not know."""


Answer = None | bool | int | str | JsonAnswer | Sequence["Answer"]


def to_json(answer: Answer, *, extended: bool = False) -> Json:
    """Return the JSON form of any answer."""
    if isinstance(answer, JsonAnswer):
        return answer.to_json(extended=extended)
    if answer is None or isinstance(answer, bool | int | str):
        return answer
    return [to_json(part, extended=extended) for part in answer]


@dataclass(frozen=True, slots=True)
class AssociationAnswer:
    """An association of a subject with a resource."""

    value: AssociationValue

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        value = self.value
        form: dict[str, Json] = {
            "subject": value.subject,
            "guid": value.guid,
            "resourceName": value.resource_name,
            "resourceNamespace": value.resource_namespace,
            "resourceId": value.resource_id,
            "resourceType": value.resource_type,
            "associationType": value.association_type,
            "lifecycle": value.lifecycle.name,
            "frozen": _shown_frozen(value.lifecycle, frozen=value.frozen),
            "createTs": value.create_timestamp,
            "updateTs": value.timestamp,
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """A version of a subject.

    Attributes:
        aliases: subjects whose configuration has this one as alias; in listings only.
        associations: in listings by association only.
    """

    subject: str
    version: int
    id: int
    guid: str
    schema_type: str
    references: tuple[Reference, ...]
    metadata: Metadata | None
    rule_set: RuleSet | None
    schema: str
    tags: tuple[EntityTags, ...] = ()
    timestamp: int | None = None
    deleted: bool | None = None
    aliases: tuple[str, ...] = ()
    associations: tuple[AssociationAnswer, ...] = ()

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        form: dict[str, Json] = {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "guid": self.guid if extended else None,
            "schemaType": _shown_type(self.schema_type, extended=extended),
            "references": references_to_json(self.references),
            "metadata": _metadata(self.metadata),
            "schema": self.schema,
            "schemaTags": _tags(self.tags),
            "ts": self.timestamp if extended else None,
            "deleted": self.deleted if extended else None,
            "ruleSet": _rule_set(self.rule_set),
            "aliases": self.aliases,
            "associations": to_json(self.associations),
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class SchemaTextAnswer:
    """A schema by its id or GUID.

    Attributes:
        subject: None if the client named none.
        max_id: the highest id of the context, if the client asked for it.
    """

    subject: str | None
    version: int | None
    guid: str
    schema_type: str
    schema: str
    references: tuple[Reference, ...]
    metadata: Metadata | None
    rule_set: RuleSet | None
    tags: tuple[EntityTags, ...] = ()
    max_id: int | None = None
    timestamp: int | None = None
    deleted: bool | None = None

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        form: dict[str, Json] = {
            "subject": self.subject if extended else None,
            "version": self.version if extended else None,
            "guid": self.guid if extended else None,
            "schemaType": _shown_type(self.schema_type, extended=extended),
            "schema": self.schema,
            "references": references_to_json(self.references),
            "metadata": _metadata(self.metadata),
            "ruleSet": _rule_set(self.rule_set),
            "schemaTags": _tags(self.tags),
            "maxId": self.max_id,
            "ts": self.timestamp if extended else None,
            "deleted": self.deleted if extended else None,
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class RegisteredAnswer:
    """A registration."""

    schema: SchemaAnswer

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        if not extended:
            return {"id": self.schema.id}
        schema = self.schema
        form: dict[str, Json] = {
            "id": schema.id,
            "version": schema.version,
            "guid": schema.guid,
            "schemaType": schema.schema_type,
            "references": references_to_json(schema.references),
            "metadata": _metadata(schema.metadata),
            "ruleSet": _rule_set(schema.rule_set),
            "schema": schema.schema,
            "ts": schema.timestamp,
            "deleted": schema.deleted,
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """A version of a subject that has an id."""

    subject: str
    version: int

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return {"subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True)
class ContextId:
    """The id that a schema has in a context."""

    context: str
    id: int

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return {"context": self.context, "id": self.id}


@dataclass(frozen=True, slots=True)
class CompatibilityAnswer:
    """The result of a compatibility check; `messages` is None unless the client wants them."""

    is_compatible: bool
    messages: tuple[str, ...] | None = None

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        form: dict[str, Json] = {"is_compatible": self.is_compatible}
        return form if self.messages is None else {**form, "messages": self.messages}


@dataclass(frozen=True, slots=True)
class ConfigAnswer:
    """A configuration.

    Attributes:
        updated: the answer to a change, which names the level `compatibility`.
    """

    config: ConfigValue
    updated: bool = False

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return self.config.to_json("compatibility" if self.updated else "compatibilityLevel")


@dataclass(frozen=True, slots=True)
class ModeAnswer:
    """A mode; None if a recursive delete found none here."""

    mode: Mode | None

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return {} if self.mode is None else {"mode": self.mode.name}


@dataclass(frozen=True, slots=True)
class ModeUpdatedAnswer:
    """The answer to a change of a mode: the request itself, in its own letters."""

    mode: str | None

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return {"mode": self.mode}


@dataclass(frozen=True, slots=True)
class AssociationItemAnswer:
    """An association of a resource, with the schema that was registered together with it."""

    value: AssociationValue
    schema: SchemaAnswer | None = None

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        form: dict[str, Json] = {
            "subject": self.value.subject,
            "associationType": self.value.association_type,
            "lifecycle": self.value.lifecycle.name,
            "frozen": _shown_frozen(self.value.lifecycle, frozen=self.value.frozen),
            "schema": None if self.schema is None else self.schema.to_json(extended=extended),
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class ResourceAnswer:
    """The associations of a resource."""

    resource_name: str | None
    resource_namespace: str | None
    resource_id: str | None
    resource_type: str | None
    associations: tuple[AssociationItemAnswer, ...] = ()

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        form: dict[str, Json] = {
            "resourceName": self.resource_name,
            "resourceNamespace": self.resource_namespace,
            "resourceId": self.resource_id,
            "resourceType": self.resource_type,
            "associations": to_json(self.associations, extended=extended),
        }
        return _present(form)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one request of a batch: an error or a resource."""

    resource: ResourceAnswer | None = None
    error_code: int | None = None
    message: str = ""

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        if self.resource is None:
            return {"error": {"error_code": self.error_code, "message": self.message}}
        return {"result": self.resource.to_json(extended=extended)}


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The results of a batch, which is answered with the status 207."""

    results: tuple[BatchResult, ...]

    def to_json(self, *, extended: bool = False) -> dict[str, Json]:
        """Return the object."""
        return {"results": to_json(self.results, extended=extended)}


def _present(form: dict[str, Json]) -> dict[str, Json]:
    # Empty metadata and rules stay: a schema with them differs from one without.
    return {
        name: value
        for name, value in form.items()
        if value is not None and value not in ("", (), [])
    }


def _shown_type(schema_type: str, *, extended: bool) -> str | None:
    return None if schema_type == "AVRO" and not extended else schema_type


def _shown_frozen(lifecycle: Lifecycle, *, frozen: bool) -> bool | None:
    return None if frozen == (lifecycle is Lifecycle.STRONG) else frozen


def _metadata(metadata: Metadata | None) -> Json:
    return None if metadata is None else metadata.to_json()


def _rule_set(rule_set: RuleSet | None) -> Json:
    return None if rule_set is None else rule_set.to_json()


def _tags(tags: tuple[EntityTags, ...]) -> list[Json]:
    return [
        {
            "schemaEntity": {"entityPath": part.entity_path, "entityType": part.entity_type},
            "tags": part.tags,
        }
        for part in tags
    ]
