"""Finding the version of a subject that holds a given schema.

Schemas are equal if their canonical texts, references, metadata and rules are. Besides, a schema
of Avro that is sent with its references written out finds the version that has them as references,
and the property `confluent:version` may be missing on one side.

Source: Confluent `lookUpSchemaUnderSubject`, `ParsedSchema.canLookup`.
"""

from dataclasses import replace

from duolog.registry.contracts import Metadata
from duolog.registry.contracts.guid import content_hash, guid_text
from duolog.registry.errors import RequestError, schema_not_found, subject_not_found
from duolog.registry.names import context_of
from duolog.registry.records.values import ConfigValue, SchemaValue
from duolog.registry.rules.answers import SchemaAnswer
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.canonical import canonical, draft_of, with_contracts
from duolog.registry.rules.parsing import Draft, Parsed
from duolog.registry.rules.requests import RegisterRequest
from duolog.schemas.schema import Language, Reference


def look_up(
    basis: Basis,
    subject: str,
    request: RegisterRequest,
    *,
    normalize: bool,
    form: str,
    deleted: bool,
) -> SchemaAnswer:
    """Find the version of a subject that holds a schema.

    Raises:
        RequestError: 40401, 40403, 42201.
    """
    subject = basis.resolved(subject)
    normalize = normalize or bool(basis.config(subject).normalize)
    draft = draft_of(subject, request)
    for place in basis.places(subject):
        try:
            answer = _in_subject(
                basis, replace(draft, subject=place), normalize=normalize, deleted=deleted
            )
        except RequestError:
            if place == subject:
                raise
            continue
        if answer is not None:
            return formatted(basis, answer, form)
    if not basis.versions.exist(subject, deleted=deleted):
        raise subject_not_found(subject)
    raise schema_not_found()


def _in_subject(
    basis: Basis, draft: Draft, *, normalize: bool, deleted: bool
) -> SchemaAnswer | None:
    config = basis.config(draft.subject)
    found = matching(basis, config, draft, normalize=normalize, deleted=deleted)
    if found is not None:
        return found
    previous = basis.versions.latest(draft.subject)
    if previous is None:
        return None
    # A registration would take over metadata and rules, so that the same request must find them.
    completed = with_contracts(config, draft, previous, None)
    if completed == draft:
        return None
    return matching(basis, config, completed, normalize=normalize, deleted=deleted)


def matching(
    basis: Basis,
    config: ConfigValue,
    draft: Draft,
    *,
    normalize: bool,
    deleted: bool,
    latest_only: bool = False,
) -> SchemaAnswer | None:
    """Return the version of the draft's subject that holds this very schema; None if none does."""
    parsed = canonical(basis, draft, config, strict=False, normalize=normalize)
    if parsed is None:
        return None
    if latest_only:
        latest = basis.versions.latest(draft.subject)
        candidates = [] if latest is None else [latest]
    else:
        found = version_with_content(basis, parsed.draft, deleted=deleted)
        if found is not None:
            return answer_of_draft(parsed.draft, found)
        candidates = basis.versions.of(draft.subject)
    for value in reversed(candidates):
        if (deleted or not value.deleted) and is_same(basis, parsed, value):
            return answer_of(value)
    return None


def version_with_content(
    basis: Basis, draft: Draft, *, deleted: bool, schema_id: int = -1
) -> SchemaValue | None:
    """Return the version of the draft's subject with exactly its content.

    Args:
        basis: the state.
        draft: the schema in its stored form.
        deleted: also find a soft-deleted version, if no other has the content.
        schema_id: the id that the version must have; negative for any.
    """
    content = content_hash(draft.schema, draft.references, draft.metadata, draft.rule_set)
    found = [
        value
        for value in basis.versions.with_content(context_of(draft.subject), content)
        if value.subject == draft.subject and (schema_id < 0 or value.schema_id == schema_id)
    ]
    active = [value for value in found if not value.deleted]
    if active:
        return active[-1]
    return found[-1] if found and deleted else None


def is_same(basis: Basis, new: Parsed, value: SchemaValue) -> bool:
    """Return whether a schema in its stored form is that of a version.

    Raises:
        RequestError: 42201, if the version can no longer be parsed.
    """
    if new.draft.schema_type != value.schema_type or new.draft.rule_set != value.rule_set:
        return False
    if not _same_metadata(new.draft.metadata, value.metadata, value.version):
        return False
    written_out = not new.draft.references and bool(value.references)
    if not written_out and not _same_references(basis, new.draft.references, value):
        return False
    if not written_out and new.draft.schema == value.schema:
        return True
    if new.schema.language is Language.AVRO and written_out:
        old = basis.parser.version(value).schema
        return new.schema.formatted("resolved") == old.formatted("resolved")
    return not written_out and new.draft.schema == basis.parser.canonical_text(value)


def _same_references(basis: Basis, new: tuple[Reference, ...], value: SchemaValue) -> bool:
    if new == value.references:
        return True
    # Older registries stored -1 for the latest version.
    if len(new) != len(value.references) or all(part.version > 0 for part in value.references):
        return False
    try:
        return new == basis.parser.resolve(Draft.of(value), deleted=True)[0]
    except RequestError:
        return False  # What it refers to is gone.


def _same_metadata(new: Metadata | None, old: Metadata | None, version: int) -> bool:
    new_number = None if new is None else new.version_number
    old_number = None if old is None else old.version_number
    if new_number is None and old is not None and old_number is not None:
        return (new or Metadata()) == old.without_version()
    if new is not None and new_number is not None and old_number is None:
        return new_number == version and new.without_version() == (old or Metadata())
    return new == old


def answer_of(value: SchemaValue) -> SchemaAnswer:
    """Return a version as the registry answers with it."""
    return replace(
        answer_of_draft(Draft.of(value), value), timestamp=value.timestamp, deleted=value.deleted
    )


def answer_of_draft(draft: Draft, value: SchemaValue) -> SchemaAnswer:
    """Return a schema of a request with the number and id of the version that holds it."""
    assert value.schema_id is not None
    content = value.md5
    if content is None:
        content = content_hash(draft.schema, draft.references, draft.metadata, draft.rule_set)
    return SchemaAnswer(
        subject=value.subject,
        version=value.version,
        id=value.schema_id,
        guid=guid_text(content),
        schema_type=draft.schema_type,
        references=draft.references,
        metadata=draft.metadata,
        rule_set=draft.rule_set,
        schema=draft.schema,
    )


def formatted(basis: Basis, answer: SchemaAnswer, form: str) -> SchemaAnswer:
    """Return an answer with its schema in another form; its GUID stays that of the stored text."""
    if not form.strip():
        return answer
    draft = Draft(
        answer.subject,
        answer.schema,
        answer.schema_type,
        answer.references,
        answer.metadata,
        answer.rule_set,
    )
    parsed = basis.parser.draft(draft, strict=False)
    text = basis.parser.rendered(parsed, lambda schema: schema.formatted(form))
    return replace(answer, schema=text)
