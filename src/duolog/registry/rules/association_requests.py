"""Requests about associations, read from their JSON bodies."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Self, TypeVar

from duolog.registry import fields as read
from duolog.registry.errors import invalid_association
from duolog.registry.fields import Fields
from duolog.registry.json_text import Json
from duolog.registry.records.values import Lifecycle
from duolog.registry.rules.requests import RegisterRequest, read_body

T = TypeVar("T")

ANY_NAMESPACE: Final = "-"


class Operation(Enum):
    """An operation of a batch on one association."""

    CREATE = auto()
    UPSERT = auto()
    DELETE = auto()


@dataclass(frozen=True, slots=True)
class AssociationItem:
    """One association of a request.

    Attributes:
        subject: the qualified subject; None for `:.namespace:name-type`.
        association_type: `key` or `value`.
        schema: a schema to register together with the association.
        operation: in batches only.
        cascade: with DELETE: also delete a subject that belongs to its topic.
    """

    subject: str | None = None
    association_type: str | None = None
    lifecycle: Lifecycle | None = None
    frozen: bool | None = None
    schema: RegisterRequest | None = None
    normalize: bool = False
    operation: Operation | None = None
    cascade: bool = False

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of one association."""
        return cls(
            subject=read.text(fields, "subject"),
            association_type=read.text(fields, "associationType"),
            lifecycle=read.choice(fields, "lifecycle", Lifecycle),
            frozen=read.boolean(fields, "frozen"),
            schema=read.nested(fields, "schema", RegisterRequest.from_fields),
            normalize=bool(read.boolean(fields, "normalize")),
            operation=read.choice(fields, "opType", Operation),
            cascade=bool(read.boolean(fields, "cascadeLifecycle")),
        )


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """The associations that a resource, usually a topic, shall have."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: tuple[AssociationItem, ...] = ()

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
            resource_name=read.text(fields, "resourceName"),
            resource_namespace=read.text(fields, "resourceNamespace"),
            resource_id=read.text(fields, "resourceId"),
            resource_type=read.text(fields, "resourceType"),
            associations=read.nested_list(fields, "associations", AssociationItem.from_fields),
        )


@dataclass(frozen=True, slots=True)
class AssociationQuery:
    """Associations to find: of a resource id, or of a name in a namespace (`-` for all)."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    association_types: tuple[str, ...] = ()
    lifecycle: Lifecycle | None = None

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields of one query of a batch."""
        return cls(
            resource_name=read.text(fields, "resourceName"),
            resource_namespace=read.text(fields, "resourceNamespace"),
            resource_id=read.text(fields, "resourceId"),
            resource_type=read.text(fields, "resourceType"),
            association_types=read.texts(fields, "associationTypes"),
            lifecycle=read.choice(fields, "lifecycle", Lifecycle),
        )


def batch_of_requests(body: Json) -> tuple[AssociationRequest, ...]:
    """Read the body of `/associations:batchMutate`.

    Raises:
        RequestError: 400 for another form, 42212 if it has no requests.
    """
    return _batch(body, AssociationRequest.from_fields)


def batch_of_queries(body: Json) -> tuple[AssociationQuery, ...]:
    """Read the body of `/associations:batchGet`.

    Raises:
        RequestError: 400 for another form, 42212 if it has no requests.
    """
    return _batch(body, AssociationQuery.from_fields)


def _batch(body: Json, from_fields: Callable[[Fields], T]) -> tuple[T, ...]:
    found = read_body(body, lambda fields: read.nested_list(fields, "requests", from_fields))
    if not found:
        raise invalid_association("requests", "cannot be null or empty")
    return found
