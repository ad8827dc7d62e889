"""Reading subjects, versions, schemas, ids and contexts.

Source: Confluent `SubjectsResource`, `SubjectVersionsResource`, `SchemasResource`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from duolog.registry import errors
from duolog.registry.contracts.guid import guid_bytes
from duolog.registry.contracts.ordering import java_order
from duolog.registry.names import (
    DEFAULT_CONTEXT,
    EVERY_CONTEXT,
    SubjectName,
    context_of,
)
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import SchemaValue
from duolog.registry.rules.answers import (
    AssociationAnswer,
    ContextId,
    SchemaAnswer,
    SchemaTextAnswer,
    SubjectVersion,
)
from duolog.registry.rules.basis import Basis, list_page, version_number
from duolog.registry.rules.entities import matching_tags
from duolog.registry.rules.lookup import answer_of, formatted
from duolog.registry.rules.requests import Page
from duolog.schemas.schema import Reference


def subjects(
    basis: Basis, prefix: str, *, deleted: bool, deleted_only: bool, page: Page
) -> tuple[str, ...]:
    """Return the subjects that begin with a prefix."""

    def wanted(subject: str) -> bool:
        is_active = basis.versions.latest(subject) is not None
        of_kind = not is_active if deleted_only else deleted or is_active
        return of_kind and basis.shows(subject)

    return list_page(filter(wanted, _with_prefix(basis, prefix)), page)


def _with_prefix(basis: Basis, prefix: str) -> list[str]:
    if prefix == EVERY_CONTEXT:
        return basis.versions.subjects()
    return [name for name in basis.versions.subjects() if _begins(name, prefix)]


def _begins(name: str, prefix: str) -> bool:
    """Return whether a subject is in the context of a prefix and begins with its name."""
    subject = SubjectName.parse(name)
    if prefix.startswith(":.") and ":" not in prefix[1:]:
        return subject.context.startswith(prefix[1:])
    wanted = SubjectName.parse(prefix)
    return wanted.context in {"*", subject.context} and subject.name.startswith(wanted.name)


def versions(
    basis: Basis,
    subject: str,
    *,
    deleted: bool,
    deleted_only: bool,
    deleted_as_negative: bool,
    page: Page,
) -> tuple[int, ...]:
    """Return the numbers of the versions of a subject.

    Raises:
        RequestError: 40401.
    """
    subject = basis.resolved(subject)
    if not basis.versions.exist(subject, deleted=deleted or deleted_only):
        raise errors.subject_not_found(subject)
    numbers: list[int] = []
    for value in basis.versions.of(subject):
        if deleted_as_negative:
            numbers.append(-value.version if value.deleted else value.version)
        elif value.deleted if deleted_only else deleted or not value.deleted:
            numbers.append(value.version)
    return list_page(numbers, page)


def version(
    basis: Basis,
    subject: str,
    text: str,
    *,
    form: str,
    reference_form: str,
    deleted: bool,
    find_tags: Sequence[str],
) -> SchemaAnswer:
    """Return a version.

    Raises:
        RequestError: 40401, 40402, 42202.
    """
    number = version_number(text)
    value = _version(basis, basis.resolved(subject), number, deleted=deleted)
    answer = answer_of(value)
    if find_tags:
        schema = basis.parser.version(value).schema
        answer = replace(answer, tags=matching_tags(schema, find_tags))
    answer = formatted(basis, answer, form)
    return replace(answer, references=_shown(answer.subject, answer.references, reference_form))


def _version(basis: Basis, subject: str, number: int, *, deleted: bool) -> SchemaValue:
    for place in basis.places(subject):
        value = basis.find(place, number, deleted=deleted)
        if value is not None:
            return value
    if not basis.versions.exist(subject, deleted=deleted):
        raise errors.subject_not_found(subject)
    raise errors.version_not_found(number)


def _shown(
    subject: str | None, references: tuple[Reference, ...], form: str
) -> tuple[Reference, ...]:
    if form != "qualified" or subject is None:
        return references
    parent = SubjectName.parse(subject)
    if parent.context == DEFAULT_CONTEXT:
        return references
    return tuple(
        Reference(part.name, parent.child(part.subject).text, part.version) for part in references
    )


def referenced_by(
    basis: Basis, subject: str, text: str, *, deleted: bool, page: Page
) -> tuple[int, ...]:
    """Return the ids of the schemas that refer to a version.

    Raises:
        RequestError: 40401, 40402, 42202.
    """
    value = _version(basis, basis.resolved(subject), version_number(text), deleted=True)
    found = {
        (context_of(other.subject), other.schema_id or 0)
        for other in basis.shown(basis.versions.referrers(SchemaKey(value.subject, value.version)))
        if deleted or not other.deleted
    }
    ordered = sorted(found, key=lambda entry: (java_order(entry[0]), entry[1]))
    return basis.schema_page((number for _, number in ordered), page)


def latest_with_metadata(
    basis: Basis, subject: str, properties: Mapping[str, str], *, form: str, deleted: bool
) -> SchemaAnswer:
    """Return the highest version whose metadata have the given properties.

    Raises:
        RequestError: 40401, 40403.
    """
    subject = basis.resolved(subject)
    for value in reversed(basis.versions.of(subject)):
        if (value.deleted and not deleted) or value.metadata is None:
            continue
        if properties.items() <= value.metadata.properties.items():
            return formatted(basis, answer_of(value), form)
    if not basis.versions.exist(subject, deleted=deleted):
        raise errors.subject_not_found(subject)
    raise errors.schema_not_found()


def schemas(
    basis: Basis,
    prefix: str,
    *,
    aliases: bool,
    deleted: bool,
    latest_only: bool,
    rule_type: str,
) -> Iterator[SchemaAnswer]:
    """Yield the versions of the subjects that begin with a prefix, by subject and number."""
    names = list(_with_prefix(basis, prefix))
    alias_names: dict[str, list[str]] = {}
    if aliases:
        for owner, config in basis.state.scopes.configs.items():
            if owner and config.alias and basis.shows(owner) and _begins(owner, prefix):
                target = SubjectName.parse(owner).child(config.alias).text
                alias_names.setdefault(target, []).append(owner)
        names = sorted({*names, *alias_names}, key=java_order)
    for name in filter(basis.shows, names):
        shown = [value for value in basis.versions.of(name) if deleted or not value.deleted]
        for value in shown[-1:] if latest_only else shown:
            rules = value.rule_set
            if rule_type and (rules is None or all(r.type != rule_type for r in rules.rules())):
                continue
            yield replace(answer_of(value), aliases=tuple(sorted(alias_names.get(name, ()))))


def with_associations(
    basis: Basis,
    answers: Iterable[SchemaAnswer],
    *,
    resource_type: str | None,
    association_types: Sequence[str],
    lifecycles: Sequence[str],
) -> Iterator[SchemaAnswer]:
    """Yield the answers whose subjects have the wanted associations; NONE wants those without."""
    if resource_type is None and not association_types and not lifecycles:
        yield from answers
        return
    for answer in answers:
        found = [
            value
            for value in basis.state.associations.of_subject(answer.subject)
            if (resource_type is None or value.resource_type == resource_type)
            and (not association_types or value.association_type in association_types)
        ]
        if not found:
            if "NONE" in lifecycles:
                yield answer
            continue
        if lifecycles:
            found = [value for value in found if value.lifecycle.name in lifecycles]
        if found:
            yield replace(answer, associations=tuple(map(AssociationAnswer, found)))


def schema_by_id(
    basis: Basis,
    schema_id: int,
    *,
    subject: str | None,
    form: str,
    reference_form: str,
    find_tags: Sequence[str],
    max_id: bool,
) -> SchemaTextAnswer:
    """Return the schema with an id.

    Raises:
        RequestError: 40403.
    """
    value = _by_id(basis, schema_id, subject)
    if value is None:
        raise errors.schema_not_found(schema_id)
    answer = _text(basis, value, form, named=subject is not None)
    if find_tags:
        schema = basis.parser.version(value).schema
        answer = replace(answer, tags=matching_tags(schema, find_tags))
    if max_id:
        answer = replace(answer, max_id=basis.versions.highest_id(context_of(value.subject)))
    references = _shown(answer.subject, answer.references, reference_form)
    return replace(answer, references=references)


def _by_id(basis: Basis, schema_id: int, subject: str | None) -> SchemaValue | None:
    """Find an id: in the subject, in the same subject of another context, in the context."""
    text = basis.resolved(subject) if subject else ""
    name = SubjectName.parse(text)
    if not name.name:
        return _first(basis.shown(basis.versions.with_id(name.context, schema_id)))
    for place in basis.places(text):
        found = _first(
            value
            for value in basis.versions.with_id(context_of(place), schema_id)
            if value.subject == place and basis.shows(place)
        )
        if found is not None:
            return found
    if name.context != DEFAULT_CONTEXT:
        return None
    return _first(basis.shown(basis.versions.with_id(DEFAULT_CONTEXT, schema_id)))


def _first(values: Iterable[SchemaValue]) -> SchemaValue | None:
    found = list(values)
    active = [value for value in found if not value.deleted]
    return next(iter(active or found), None)


def _text(basis: Basis, value: SchemaValue, form: str, *, named: bool) -> SchemaTextAnswer:
    answer = formatted(basis, answer_of(value), form)
    return SchemaTextAnswer(
        subject=answer.subject if named else None,
        version=answer.version if named else None,
        guid=answer.guid,
        schema_type=answer.schema_type,
        schema=answer.schema,
        references=answer.references,
        metadata=answer.metadata,
        rule_set=answer.rule_set,
        timestamp=answer.timestamp,
        deleted=answer.deleted,
    )


def versions_of_id(
    basis: Basis, schema_id: int, *, subject: str | None, deleted: bool
) -> list[SubjectVersion]:
    """Return the versions with an id.

    Raises:
        RequestError: 40403.
    """
    value = _by_id(basis, schema_id, subject)
    if value is None:
        raise errors.schema_not_found()
    return [
        SubjectVersion(other.subject, other.version)
        for other in basis.shown(basis.versions.with_id(context_of(value.subject), schema_id))
        if deleted or not other.deleted
    ]


def schema_by_guid(basis: Basis, guid: str, *, form: str) -> SchemaTextAnswer:
    """Return the schema with a GUID, from any context.

    Raises:
        RequestError: 40403.
    """
    content = guid_bytes(guid)
    for context in basis.state.contexts() if content is not None else ():
        assert content is not None
        value = _first(basis.shown(basis.versions.with_content(context, content)))
        if value is not None:
            return _text(basis, value, form, named=False)
    raise errors.schema_not_found(guid)


def ids_of_guid(basis: Basis, guid: str) -> tuple[ContextId, ...]:
    """Return the ids of a GUID in all contexts."""
    content = guid_bytes(guid)
    if content is None:
        return ()
    return tuple(
        ContextId(context, number)
        for context in basis.state.contexts()
        for number in sorted(
            {
                value.schema_id or 0
                for value in basis.shown(basis.versions.with_content(context, content))
            }
        )
    )


def contexts(basis: Basis, prefix: str, page: Page) -> tuple[str, ...]:
    """Return the names of the contexts that begin with a prefix."""
    return list_page((name for name in basis.contexts() if name.startswith(prefix)), page)
