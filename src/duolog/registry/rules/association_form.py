"""The form of requests about associations: names, types, and what a lifecycle implies.

    schema given      STRONG, frozen        the subject belongs to its topic
    no schema         WEAK, not frozen      unless the request says otherwise

Source: Confluent `AssociationCreateOrUpdateRequest.validate` and its parts.
"""

from dataclasses import replace
from typing import Final

from duolog.registry.errors import invalid_association
from duolog.registry.names import is_valid
from duolog.registry.records.values import Lifecycle
from duolog.registry.rules.association_requests import (
    AssociationItem,
    AssociationRequest,
    Operation,
)

NAME_LENGTH_MAX: Final = 256
TYPES: Final = ("key", "value")


def validated(
    request: AssociationRequest, *, operation: Operation | None, dry_run: bool
) -> AssociationRequest:
    """Return the request with its defaults.

    Args:
        request: the request.
        operation: what is done with all its associations; None for those of a batch.
        dry_run: a resource that does not exist yet needs no id.

    Raises:
        RequestError: 42212.
    """
    _ensure_name(request.resource_name, "resourceName")
    _ensure_name(request.resource_namespace, "resourceNamespace")
    if not dry_run and not request.resource_id:
        raise invalid_association("resourceId", "cannot be null or empty")
    if request.resource_type not in {None, "", "topic"}:
        raise invalid_association("resourceType", "must be 'topic'")
    if not request.associations:
        raise invalid_association("associations", "cannot be null or empty")
    items: list[AssociationItem] = []
    for item in request.associations:
        kind = operation or item.operation
        if kind is None:
            raise invalid_association("opType", "must be CREATE, UPSERT or DELETE")
        items.append(_validated(replace(item, operation=kind), request))
        ensure_once(items)
    return replace(request, resource_type="topic", associations=tuple(items))


def ensure_once(items: list[AssociationItem]) -> None:
    """Raise an error if the last item has the type of another one.

    Raises:
        RequestError: 42212.
    """
    last = items[-1].association_type
    if any(item.association_type == last for item in items[:-1]):
        raise invalid_association(
            "associationType",
            f"may only appear once per request, but '{last}' appears more than once",
        )


def default_subject(request: AssociationRequest, kind: str | None) -> str:
    """Return the subject that belongs to a topic."""
    return f":.{request.resource_namespace}:{request.resource_name}-{kind}"


def with_defaults(item: AssociationItem, *, create: bool) -> AssociationItem:
    """Return an association that does not exist yet, with lifecycle and frozen.

    Raises:
        RequestError: 42212.
    """
    lifecycle = item.lifecycle
    if item.schema is not None:
        if not create:
            raise invalid_association(
                "schema",
                "cannot be provided when adding an association to an existing topic; "
                "an association with a schema must be created with the topic",
            )
        if lifecycle is Lifecycle.WEAK:
            raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
        if item.frozen is False:
            raise invalid_association("frozen", "cannot be false when a schema is provided")
        lifecycle = Lifecycle.STRONG
    lifecycle = lifecycle or Lifecycle.WEAK
    frozen = lifecycle is Lifecycle.STRONG
    if item.frozen is not None and item.frozen != frozen:
        shown = "true" if item.frozen else "false"
        raise invalid_association(
            "frozen", f"association with lifecycle of {lifecycle.name} cannot be frozen={shown}"
        )
    return replace(item, lifecycle=lifecycle, frozen=frozen)


def _validated(item: AssociationItem, request: AssociationRequest) -> AssociationItem:
    if item.association_type in {None, ""}:
        item = replace(item, association_type="value")
    elif item.association_type not in TYPES:
        raise invalid_association("associationType", "must be either 'key' or 'value'")
    if item.operation is Operation.DELETE:
        return item
    if item.subject is not None and not is_valid(item.subject):
        raise invalid_association("subject", "must not be empty")
    create = item.operation is Operation.CREATE
    if create:
        item = with_defaults(item, create=True)
    if item.lifecycle is Lifecycle.WEAK:
        if item.schema is not None:
            raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
        if item.frozen:
            raise invalid_association(
                "frozen", "association with lifecycle of WEAK cannot be frozen"
            )
        if create and item.subject is None:
            raise invalid_association("subject", "must be provided for WEAK associations")
    if create:
        item = _with_subject(item, default_subject(request, item.association_type))
    return item


def _with_subject(item: AssociationItem, default: str) -> AssociationItem:
    item = replace(item, subject=default if item.subject is None else item.subject)
    if item.frozen and item.subject != default:
        raise invalid_association("subject", f"frozen associations must use subject '{default}'")
    if item.lifecycle is Lifecycle.WEAK and item.subject == default:
        raise invalid_association("subject", f"WEAK associations cannot use subject '{default}'")
    return item


def _ensure_name(name: str | None, what: str) -> None:
    if not name:
        raise invalid_association(what, "cannot be null or empty")
    if len(name) > NAME_LENGTH_MAX:
        raise invalid_association(what, f"exceeds max length of {NAME_LENGTH_MAX}")
    for letter in name:
        if not (letter.isalnum() or letter in "_-"):
            raise invalid_association(what, f"illegal character '{letter}'")
