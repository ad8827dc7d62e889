"""Checks of requests that give a resource associations, against those that exist.

Source: Confluent `AbstractSchemaRegistry.createOrUpdateAssociation`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duolog.registry import errors
from duolog.registry.errors import invalid_association
from duolog.registry.names import SubjectName
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import AssociationValue, Lifecycle, Mode
from duolog.registry.rules.association_form import default_subject, with_defaults
from duolog.registry.rules.association_queries import chosen, of_resource
from duolog.registry.rules.association_requests import (
    AssociationItem,
    AssociationRequest,
    Operation,
)
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.canonical import draft_of
from duolog.registry.rules.lookup import matching
from duolog.registry.rules.registration import with_requested_tags


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An association of a request that passed all checks.

    Attributes:
        item: with its qualified subject and, if it is new, its lifecycle.
        old: the association that it changes.
        unchanged: nothing is to be written.
    """

    item: AssociationItem
    old: AssociationValue | None
    unchanged: bool = False

    @property
    def subject(self) -> str:
        """The qualified subject."""
        assert self.item.subject is not None
        return self.item.subject

    @property
    def lifecycle(self) -> Lifecycle:
        """The lifecycle that the association will have."""
        if self.item.lifecycle is not None:
            return self.item.lifecycle
        assert self.old is not None
        return self.old.lifecycle


def checked(
    basis: Basis, request: AssociationRequest, *, create: bool, dry_run: bool
) -> list[CheckedItem]:
    """Return the associations of a request whose form is valid.

    Raises:
        RequestError: 40903, 40904, 40905, 40907, 40908, 42205, 42206, 42212.
    """
    existing = _existing(basis, request, create=create, dry_run=dry_run)
    items = [
        _checked(basis, request, item, existing.get(item.association_type or ""))
        for item in request.associations
    ]
    _ensure_one_lifecycle(basis, request, items)
    for entry in items:
        _ensure_possible(basis, request, entry)
    return items


def _existing(
    basis: Basis, request: AssociationRequest, *, create: bool, dry_run: bool
) -> dict[str, AssociationValue]:
    if request.resource_id is None and create and dry_run:
        found = _latest_resource(basis, request)
    else:
        found = basis.state.associations.of_resource_id(request.resource_id or "")
    return {value.association_type: value for value in chosen(found, request.resource_type)}


def _latest_resource(basis: Basis, request: AssociationRequest) -> list[AssociationValue]:
    """Return the associations of the resource of this name that was changed last."""
    found = of_resource(basis, request.resource_namespace, request.resource_name)
    found = chosen(found, request.resource_type)
    if not found:
        return []
    last = max(
        found,
        key=lambda value: (
            value.timestamp or 0,
            value.create_timestamp or 0,
            value.resource_id,
        ),
    )
    return [value for value in found if value.resource_id == last.resource_id]


def _checked(
    basis: Basis,
    request: AssociationRequest,
    item: AssociationItem,
    old: AssociationValue | None,
) -> CheckedItem:
    create = item.operation is Operation.CREATE
    if old is None and not create:
        item = with_defaults(item, create=False)
    default = default_subject(request, item.association_type)
    item = _ensure_consistent(item, old, default)
    if old is None:
        _ensure_creatable(basis, item, create=create)
        return CheckedItem(item, None)
    if _is_equivalent(old, item):
        if create and item.schema is not None and not _holds_schema(basis, item):
            raise errors.association_of_resource_exists(old.association_type, old.resource_name)
        return CheckedItem(item, old, unchanged=True)
    if create:
        raise errors.association_of_resource_exists(old.association_type, old.resource_name)
    _ensure_changeable(item, old, default)
    return CheckedItem(item, old)


def _ensure_consistent(
    item: AssociationItem, old: AssociationValue | None, default: str
) -> AssociationItem:
    """Return the association with its subject, if subject, lifecycle and frozen go together."""
    lifecycle = item.lifecycle or (old.lifecycle if old else None)
    if item.subject is None:
        if old is None and lifecycle is not Lifecycle.STRONG:
            raise invalid_association("subject", "must be provided for WEAK associations")
        item = replace(item, subject=default if old is None else old.subject)
    if lifecycle is None:
        raise invalid_association("lifecycle", "lifecycle must be set")
    if lifecycle is Lifecycle.WEAK:
        if item.schema is not None:
            raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
        if item.subject == default:
            raise invalid_association(
                "subject", f"WEAK associations cannot use subject '{default}'"
            )
    frozen = bool(item.frozen) if old is None else old.frozen
    wanted = frozen if item.frozen is None else item.frozen
    if wanted != (lifecycle is Lifecycle.STRONG):
        shown = "true" if wanted else "false"
        raise invalid_association(
            "frozen", f"association with lifecycle of {lifecycle.name} cannot be frozen={shown}"
        )
    if frozen and item.subject != default:
        raise invalid_association("subject", f"frozen associations must use subject '{default}'")
    return item


def _ensure_creatable(basis: Basis, item: AssociationItem, *, create: bool) -> None:
    assert item.subject is not None
    imports = basis.mode(item.subject) is Mode.IMPORT
    if imports:
        return
    if not create and item.lifecycle is Lifecycle.STRONG:
        raise invalid_association(
            "lifecycle",
            "cannot be STRONG when creating an association; "
            "STRONG associations must be created with the topic",
        )
    if item.frozen:
        if create and item.schema is None:
            raise invalid_association(
                "schema", "schema must be provided when creating a frozen association"
            )
        latest = basis.versions.latest(item.subject)
        if latest is not None and (latest.version != 1 or not _holds_schema(basis, item)):
            raise invalid_association(
                "frozen",
                "cannot create a frozen association when schemas already exist in the subject",
            )


def _ensure_changeable(item: AssociationItem, old: AssociationValue, default: str) -> None:
    if item.lifecycle is None and item.schema is None:
        raise invalid_association(
            "lifecycle", "at least lifecycle or schema must be provided for update"
        )
    if item.subject != old.subject:
        raise invalid_association(
            "subject",
            f"subject of association cannot be changed from '{old.subject}' to '{item.subject}'",
        )
    if (
        old.lifecycle is Lifecycle.STRONG
        and item.lifecycle is Lifecycle.WEAK
        and old.subject == default
    ):
        raise invalid_association(
            "lifecycle", f"cannot change to WEAK when subject matches default format '{default}'"
        )
    if item.frozen is not None and item.frozen != old.frozen:
        raise invalid_association("frozen", "frozen attribute of association cannot be changed")
    if old.frozen:
        raise errors.association_frozen(old.association_type, old.subject)


def _is_equivalent(old: AssociationValue, item: AssociationItem) -> bool:
    return (
        old.subject == item.subject
        and item.lifecycle in {None, old.lifecycle}
        and item.frozen in {None, old.frozen}
    )


def _holds_schema(basis: Basis, item: AssociationItem) -> bool:
    if item.schema is None or item.subject is None:
        return False
    draft = with_requested_tags(basis, draft_of(item.subject, item.schema), item.schema)
    found = matching(
        basis,
        basis.config(item.subject),
        draft,
        normalize=item.normalize,
        deleted=False,
    )
    return found is not None


def _ensure_one_lifecycle(
    basis: Basis, request: AssociationRequest, items: Sequence[CheckedItem]
) -> None:
    if request.resource_id is None:
        found = _latest_resource(basis, request)
    else:
        found = chosen(
            basis.state.associations.of_resource_id(request.resource_id), request.resource_type
        )
    by_type = {value.association_type: value.lifecycle for value in found}
    for entry in items:
        by_type[entry.item.association_type or ""] = entry.lifecycle
    if len(set(by_type.values())) > 1:
        detail = ", ".join(f"{kind}={lifecycle.name}" for kind, lifecycle in by_type.items())
        raise invalid_association(
            "lifecycle",
            f"all associations for a resource must have the same lifecycle, but got {detail}",
        )


def _ensure_possible(basis: Basis, request: AssociationRequest, entry: CheckedItem) -> None:
    subject = entry.subject
    if entry.item.schema is not None and basis.mode(subject) is Mode.IMPORT:
        raise invalid_association(
            "schema", f"cannot be provided while subject '{subject}' is in IMPORT mode"
        )
    if entry.item.schema is None and basis.versions.latest(subject) is None:
        raise errors.no_active_version(subject)
    others = [
        value
        for value in basis.state.associations.of_subject(subject)
        if entry.old is None
        or (value.resource_id, value.resource_type, value.association_type)
        != (entry.old.resource_id, entry.old.resource_type, entry.old.association_type)
    ]
    if entry.lifecycle is Lifecycle.STRONG:
        if others:
            raise errors.association_of_subject_exists(subject)
        if _is_referenced(basis, subject) or _refers(request, subject):
            raise errors.reference_exists(subject)
    elif any(value.lifecycle is Lifecycle.STRONG for value in others):
        raise errors.strong_association_exists(subject)


def _is_referenced(basis: Basis, subject: str) -> bool:
    return any(
        basis.versions.referrers(SchemaKey(subject, value.version))
        for value in basis.versions.of(subject)
    )


def _refers(request: AssociationRequest, subject: str) -> bool:
    """Return whether a schema of the same request refers to the subject."""
    return any(
        SubjectName.parse(item.subject).child(part.subject).text == subject
        for item in request.associations
        if item.schema is not None and item.subject is not None
        for part in item.schema.references
    )
