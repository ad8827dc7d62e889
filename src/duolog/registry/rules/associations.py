"""Writing associations: a subject belongs to a topic (STRONG), or topics share it (WEAK).

A request may register schemas together with its associations; all of it is appended, or nothing.

Source: Confluent `AbstractSchemaRegistry.createOrUpdateAssociation`, `mutateAssociations`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from duolog.registry import errors
from duolog.registry.errors import RequestError, invalid_association
from duolog.registry.names import SubjectName, normalized
from duolog.registry.records import Record
from duolog.registry.records.values import AssociationValue, Lifecycle, Mode
from duolog.registry.rules.answers import (
    AssociationItemAnswer,
    BatchAnswer,
    BatchResult,
    ResourceAnswer,
    SchemaAnswer,
)
from duolog.registry.rules.association_checks import CheckedItem, checked
from duolog.registry.rules.association_form import ensure_once, validated
from duolog.registry.rules.association_queries import TOPIC, chosen, resource_answer
from duolog.registry.rules.association_requests import (
    AssociationItem,
    AssociationRequest,
    Operation,
)
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.canonical import canonical, draft_of
from duolog.registry.rules.compatibility import incompatibilities, new_schemas_are_validated
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.deletion import delete_subject
from duolog.registry.rules.registration import register, with_requested_tags
from duolog.registry.state.associations import key_of


def create(
    basis: Basis, request: AssociationRequest, *, context: str, dry_run: bool
) -> Decision[ResourceAnswer]:
    """Decide on new associations of a resource.

    Raises:
        RequestError: 40901, 40903 to 40908, 42201, 42205, 42206, 42212.
    """
    request = validated(request, operation=Operation.CREATE, dry_run=dry_run)
    return _written(basis, request, context=context, dry_run=dry_run)


def change(
    basis: Basis, resource_id: str, request: AssociationRequest, *, context: str, dry_run: bool
) -> Decision[ResourceAnswer]:
    """Decide on new or changed associations of a resource.

    Raises:
        RequestError: 40901, 40903 to 40908, 42201, 42205, 42206, 42212.
    """
    if request.resource_id not in {None, resource_id}:
        raise invalid_association(
            "resourceId",
            "Resource ID in the path parameter does not match the one in the request body",
        )
    request = replace(request, resource_id=resource_id)
    request = validated(request, operation=Operation.UPSERT, dry_run=dry_run)
    return _written(basis, request, context=context, dry_run=dry_run)


def delete(
    basis: Basis,
    resource_id: str,
    *,
    resource_type: str | None,
    association_types: Sequence[str],
    cascade: bool,
    dry_run: bool,
) -> Decision[None]:
    """Decide on the deletion of associations.

    Raises:
        RequestError: 40410, 40908, 42205, 42206.
    """
    found = basis.state.associations.of_resource_id(resource_id)
    found = chosen(found, resource_type or TOPIC, association_types)
    if not found:
        raise errors.association_not_found(resource_id)
    records = _deleted(basis, found, cascade=cascade)
    return Decision(None, () if dry_run else tuple(records))


def apply_batch(
    basis: Basis, requests: Sequence[AssociationRequest], *, context: str, dry_run: bool
) -> Decision[BatchAnswer]:
    """Decide on the requests of a batch; each is accepted or refused as a whole."""
    records: list[Record] = []
    results: list[BatchResult] = []
    with basis.state.trial():
        for request in requests:
            try:
                with basis.state.trial():
                    decision = _mutated(basis, request, context=context, dry_run=dry_run)
            except RequestError as error:
                results.append(_failed(error))
                continue
            basis.state.replay_all(decision.records)
            records += decision.records
            results.append(BatchResult(decision.answer))
    return Decision(BatchAnswer(tuple(results)), tuple(records))


def _failed(error: RequestError) -> BatchResult:
    if error.code == 42201:
        return BatchResult(error_code=42212, message=error.message)
    if error.code in {40901, 42206, 42209, 42212} or 40903 <= error.code <= 40908:
        return BatchResult(error_code=error.code, message=error.message)
    message = f"Error while creating association: {error.message}"
    return BatchResult(error_code=500, message=message)


def _mutated(
    basis: Basis, request: AssociationRequest, *, context: str, dry_run: bool
) -> Decision[ResourceAnswer]:
    request = validated(request, operation=None, dry_run=dry_run)
    records: list[Record] = []
    schemas: dict[str, SchemaAnswer] = {}
    for part in _runs(request):
        if part.associations[0].operation is Operation.DELETE:
            made = _deleted_items(basis, part)
        else:
            decision = _written(basis, part, context=context, dry_run=dry_run)
            made = list(decision.records)
            for item in decision.answer.associations:
                if item.schema is not None:
                    schemas[item.value.association_type] = item.schema
        if not dry_run:
            basis.state.replay_all(made)
            records += made
    resource = _resource(request)
    if not dry_run:
        found = basis.state.associations.of_resource_id(request.resource_id or "")
        answer = resource_answer(basis, resource, chosen(found, request.resource_type))
        items = tuple(
            replace(item, schema=schemas.get(item.value.association_type))
            for item in answer.associations
        )
        resource = replace(answer, associations=items)
    return Decision(resource, tuple(records))


def _runs(request: AssociationRequest) -> Iterator[AssociationRequest]:
    """Yield neighbours of the same operation together: their checks see each other."""
    for operation, items in groupby(request.associations, key=lambda item: item.operation):
        if operation is Operation.DELETE:
            for item in items:
                yield replace(request, associations=(item,))
        else:
            yield replace(request, associations=tuple(items))


def _deleted_items(basis: Basis, request: AssociationRequest) -> list[Record]:
    item = request.associations[0]
    found = chosen(
        basis.state.associations.of_resource_id(request.resource_id or ""),
        request.resource_type,
        (item.association_type or "",),
    )
    return _deleted(basis, found, cascade=item.cascade)


def _deleted(basis: Basis, values: Sequence[AssociationValue], *, cascade: bool) -> list[Record]:
    for value in values:
        _ensure_writable(basis, value.subject)
        if not cascade and value.frozen:
            raise errors.association_frozen(value.association_type, value.subject)
    records: list[Record] = []
    with basis.state.trial():
        for value in values:
            _append(basis, records, [Record(key_of(value), None)])
            owned = cascade and value.lifecycle is Lifecycle.STRONG
            if owned and basis.mode(value.subject) is not Mode.IMPORT:
                for permanent in (False, True):
                    if basis.versions.exist(value.subject, deleted=permanent):
                        _append(
                            basis,
                            records,
                            delete_subject(basis, value.subject, permanent=permanent).records,
                        )
    return records


def _append(basis: Basis, records: list[Record], made: Sequence[Record]) -> None:
    basis.state.replay_all(made)
    records += made


def _written(
    basis: Basis, request: AssociationRequest, *, context: str, dry_run: bool
) -> Decision[ResourceAnswer]:
    request = _with_qualified_subjects(basis, request, context)
    is_create = request.associations[0].operation is Operation.CREATE
    entries = checked(basis, request, create=is_create, dry_run=dry_run)
    for entry in entries:
        _ensure_compatible(basis, entry)
    if dry_run:
        return Decision(_resource(request))
    records: list[Record] = []
    items: list[AssociationItemAnswer] = []
    schemas: dict[str, SchemaAnswer] = {}
    with basis.state.trial():
        for entry in entries:
            if entry.item.schema is not None:
                decision = register(
                    basis,
                    entry.subject,
                    entry.item.schema,
                    normalize=entry.item.normalize,
                    form="",
                    force=False,
                )
                _append(basis, records, decision.records)
                schemas[entry.subject] = decision.answer.schema
    for entry in entries:
        if not entry.unchanged:
            value = _value(basis, request, entry)
            records.append(Record(key_of(value), value))
            items.append(AssociationItemAnswer(value, schemas.get(entry.subject)))
    return Decision(replace(_resource(request), associations=tuple(items)), tuple(records))


def _resource(request: AssociationRequest) -> ResourceAnswer:
    return ResourceAnswer(
        request.resource_name,
        request.resource_namespace,
        request.resource_id,
        request.resource_type,
    )


def _with_qualified_subjects(
    basis: Basis, request: AssociationRequest, context: str
) -> AssociationRequest:
    items: list[AssociationItem] = []
    parent = SubjectName.parse(context)
    for item in request.associations:
        subject = item.subject
        if subject is not None:
            subject = parent.child(subject).text
            subject = basis.resolved(normalized(subject))
            _ensure_writable(basis, subject)
        items.append(replace(item, subject=subject))
        ensure_once(items)
    return replace(request, associations=tuple(items))


def _ensure_writable(basis: Basis, subject: str) -> None:
    if basis.mode(subject).is_read_only:
        name = SubjectName.parse(subject)
        raise errors.not_permitted(
            f"Subject {name.name} in context {name.context} is in read-only mode"
        )


def _ensure_compatible(basis: Basis, entry: CheckedItem) -> None:
    schema = entry.item.schema
    if schema is None:
        return
    config = basis.config(entry.subject)
    draft = with_requested_tags(basis, draft_of(entry.subject, schema), schema)
    parsed = canonical(
        basis,
        draft,
        config,
        strict=new_schemas_are_validated(basis, config),
        normalize=entry.item.normalize,
    )
    if parsed is None:
        raise errors.invalid_schema("Empty schema")
    messages = incompatibilities(basis, config, parsed, basis.versions.active(entry.subject))
    if messages:
        raise errors.IncompatibleSchema(messages, entry.subject, of_association=True)


def _value(basis: Basis, request: AssociationRequest, entry: CheckedItem) -> AssociationValue:
    item, old = entry.item, entry.old
    if old is not None:
        frozen = old.frozen if item.frozen is None else item.frozen
        return replace(old, lifecycle=entry.lifecycle, frozen=frozen, timestamp=None)
    return AssociationValue(
        guid=basis.new_guid(),
        resource_name=request.resource_name or "",
        resource_namespace=request.resource_namespace or "",
        resource_id=request.resource_id or "",
        resource_type=request.resource_type or TOPIC,
        association_type=item.association_type or "",
        subject=entry.subject,
        lifecycle=entry.lifecycle,
        frozen=bool(item.frozen),
    )
