"""Registering a schema: a new version of a subject, or the version that holds it already.

Source: Confluent `KafkaSchemaRegistry.register` and `registerOrForward`.
"""

from collections.abc import Sequence
from dataclasses import replace

from duolog.registry import errors
from duolog.registry.contracts import rule_set
from duolog.registry.contracts.guid import content_hash
from duolog.registry.contracts.rule_set import InvalidRuleError, RuleSet
from duolog.registry.fields import INT_MAX
from duolog.registry.names import DEFAULT_CONTEXT, SubjectName, context_of, is_valid
from duolog.registry.records import Record, encode
from duolog.registry.records.keys import ContextKey, SchemaKey
from duolog.registry.records.values import ContextValue, Lifecycle, Mode, SchemaValue
from duolog.registry.rules.answers import RegisteredAnswer, SchemaAnswer
from duolog.registry.rules.basis import LATEST, Basis, version_number
from duolog.registry.rules.canonical import canonical, draft_of, with_contracts
from duolog.registry.rules.compatibility import incompatibilities, new_schemas_are_validated
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.entities import Tags, tags_of, with_tags
from duolog.registry.rules.highest_ids import kept_ids
from duolog.registry.rules.lookup import (
    answer_of,
    answer_of_draft,
    formatted,
    is_same,
    matching,
    version_with_content,
)
from duolog.registry.rules.parsing import Draft, Parsed
from duolog.registry.rules.requests import RegisterRequest, TagRequest, by_entity


def registered(  # noqa: PLR0911 - one return for each way in which nothing changes
    basis: Basis, subject: str, request: RegisterRequest, *, normalize: bool, form: str
) -> RegisteredAnswer | None:
    """Return the answer to a registration that changes nothing; None if the leader decides.

    Raises:
        RequestError: 42201, 42208, 42210.
    """
    subject = _subject(basis, subject)
    _ensure_rules(request.rule_set)
    config = basis.config(subject)
    if request.tags_to_add or request.tags_to_remove or request.propagate_tags:
        return None
    if config.has_defaults_or_overrides:
        return None
    draft = draft_of(subject, request)
    latest_only = draft.version == LATEST
    found = matching(
        basis,
        config,
        draft,
        normalize=normalize or bool(config.normalize),
        deleted=False,
        latest_only=latest_only,
    )
    if found is None:
        return None
    if draft.version == 0 or latest_only:
        known = draft.schema_id < 0 or draft.schema_id == found.id
        return _formatted(basis, found, form) if known else None
    if found.id != draft.schema_id:
        return None
    if found.version != draft.version:
        # The same schema may have been imported as several versions.
        other = basis.find(subject, draft.version, deleted=False)
        if other is None or other.schema_id != found.id or answer_of(other).guid != found.guid:
            return None
        found = answer_of(other)
    return _formatted(basis, found, form)


def register(
    basis: Basis,
    subject: str,
    request: RegisterRequest,
    *,
    normalize: bool,
    form: str,
    force: bool,
) -> Decision[RegisteredAnswer]:
    """Decide on a registration.

    Raises:
        RequestError: 409, 42201, 42205, 42207, 42208, 42209, 42210.
    """
    known = registered(basis, subject, request, normalize=normalize, form=form)
    if known is not None:
        return Decision(known)
    subject = _subject(basis, subject)
    draft = with_requested_tags(basis, draft_of(subject, request), request)
    decision = register_draft(
        basis,
        draft,
        normalize=normalize or bool(basis.config(subject).normalize),
        force=force,
        propagate_tags=request.propagate_tags,
    )
    return Decision(_formatted(basis, decision.answer, form), decision.records)


def change_tags(
    basis: Basis, subject: str, version: str, request: TagRequest
) -> Decision[RegisteredAnswer]:
    """Decide on new tags, metadata or rules of a version.

    Raises:
        RequestError: 40401, 40402, 409, 42201, 42202, 42205, 42208, 42210.
    """
    if not is_valid(subject, for_settings=True):
        raise errors.invalid_subject(subject)
    number = version_number(version)
    subject = basis.resolved(subject)
    value = basis.find(subject, number, deleted=False)
    if value is None:
        if not basis.versions.exist(subject, deleted=False):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(number)
    merges = request.rules_to_merge is not None or request.rules_to_remove is not None
    if merges and request.rule_set is not None:
        raise errors.invalid_rule_set(
            "ruleSet should be omitted if specifying rulesToMerge or rulesToRemove"
        )
    _ensure_rules(request.rules_to_merge)
    _ensure_rules(request.rule_set)
    # The version is written into the metadata, so that it differs from the one before it.
    draft = replace(
        Draft.of(value),
        metadata=value.metadata if request.metadata is None else request.metadata,
        rule_set=_changed_rules(basis, subject, request) if merges else request.rule_set,
        version=request.new_version or LATEST,
        schema_id=-1,
    )
    draft = _with_tags(
        basis, draft, by_entity(request.tags_to_add), by_entity(request.tags_to_remove)
    )
    decision = register_draft(basis, draft, normalize=False, force=False, propagate_tags=False)
    return Decision(RegisteredAnswer(decision.answer), decision.records)


def _changed_rules(basis: Basis, subject: str, request: TagRequest) -> RuleSet | None:
    before = LATEST if request.new_version is None else request.new_version - 1
    old = basis.find(subject, before, deleted=False)
    rules = rule_set.merged(None if old is None else old.rule_set, request.rules_to_merge)
    if rules is not None and request.rules_to_remove is not None:
        rules = rules.without(frozenset(request.rules_to_remove))
    return rules


def register_draft(
    basis: Basis, draft: Draft, *, normalize: bool, force: bool, propagate_tags: bool
) -> Decision[SchemaAnswer]:
    """Decide on a registration whose subject is resolved and whose tags are written."""
    subject = draft.subject
    config, mode = basis.config(subject), basis.mode(subject)
    _ensure_mode(basis, draft, mode)
    versions = basis.versions.of(subject)
    active = [value for value in versions if not value.deleted]
    new_version = versions[-1].version + 1 if versions else 1
    previous = active[-1] if active else None
    if not mode.is_import:
        draft = _completed(basis, draft, previous, propagate_tags=propagate_tags)
        draft = with_contracts(config, draft, previous, new_version)
    strict = draft.schema_id < 0 and new_schemas_are_validated(basis, config)
    parsed = canonical(basis, draft, config, strict=strict, normalize=normalize)
    if parsed is None:
        raise errors.invalid_schema("Empty schema")
    _ensure_no_strong_reference(basis, parsed.draft)
    schema_id, known = _known(basis, parsed, active)
    if known is not None:
        return Decision(answer_of_draft(parsed.draft, known))
    if not mode.is_import and not force:
        messages = incompatibilities(basis, config, parsed, active)
        if messages:
            raise errors.IncompatibleSchema(messages, subject, of_association=False)
    return _appended(
        basis, parsed.draft, versions, new_version=new_version, schema_id=schema_id, mode=mode
    )


def _known(
    basis: Basis, parsed: Parsed, active: Sequence[SchemaValue]
) -> tuple[int, SchemaValue | None]:
    """Return the id that the schema has, negative if none, and the version that holds it."""
    draft = parsed.draft
    schema_id = draft.schema_id
    if schema_id < 0:
        content = content_hash(draft.schema, draft.references, draft.metadata, draft.rule_set)
        equal = basis.versions.with_content(context_of(draft.subject), content)
        ids = [value.schema_id for value in equal if value.schema_id is not None]
        schema_id = min(ids, default=-1)
    if draft.version != 0:
        return schema_id, None
    found = version_with_content(basis, draft, deleted=False, schema_id=draft.schema_id)
    if found is not None:
        return schema_id, found
    for value in reversed(active):
        if schema_id in {-1, value.schema_id} and is_same(basis, parsed, value):
            return schema_id, value
    return schema_id, None


def _appended(
    basis: Basis,
    draft: Draft,
    versions: Sequence[SchemaValue],
    *,
    new_version: int,
    schema_id: int,
    mode: Mode,
) -> Decision[SchemaAnswer]:
    context = context_of(draft.subject)
    if draft.version <= 0:
        draft = replace(draft, version=new_version)
    elif draft.version != new_version and not mode.is_import:
        raise errors.invalid_schema("Version is not one more than previous version")
    if schema_id >= 0:
        _ensure_id_free(basis, draft, schema_id)
    else:
        schema_id = basis.versions.highest_id(context) + 1
    if schema_id > INT_MAX or draft.version > INT_MAX:
        raise errors.numbers_exhausted(context)
    value = SchemaValue(
        subject=draft.subject,
        version=draft.version,
        schema_id=schema_id,
        schema=draft.schema,
        schema_type=draft.schema_type,
        references=draft.references,
        metadata=draft.metadata,
        rule_set=draft.rule_set,
    )
    records: list[Record] = []
    if context != DEFAULT_CONTEXT and not basis.state.knows_context(context):
        records.append(Record(ContextKey(context), ContextValue()))
    # The new version takes the place of soft-deleted ones with the same schema.
    for old in versions:
        key = SchemaKey(old.subject, old.version)
        replaced = old.deleted and old.schema_id == schema_id and old.version < draft.version
        if replaced and not basis.versions.referrers(key):
            records.append(Record(key, None))
    record = Record(SchemaKey(value.subject, value.version), value)
    # An import may overwrite a soft-deleted version.
    overwritten = basis.versions.get(SchemaKey(value.subject, value.version))
    if overwritten is not None and overwritten.schema_id != schema_id:
        records += kept_ids(basis, [overwritten])
    if sum(len(part or b"") for part in encode(record)) > basis.settings.record_bytes_max:
        raise errors.schema_too_large()
    return Decision(answer_of_draft(draft, value), (*records, record))


def _ensure_id_free(basis: Basis, draft: Draft, schema_id: int) -> None:
    context = context_of(draft.subject)
    for other in basis.versions.with_id(context, schema_id):
        same = (
            other.schema == draft.schema
            and other.schema_type == draft.schema_type
            and other.references == draft.references
            and other.metadata == draft.metadata
            and other.rule_set == draft.rule_set
        )
        if not same:
            prefix = SubjectName.parse(draft.subject).prefix
            raise errors.not_permitted(
                f"Overwrite new schema with id {schema_id} in context {prefix} is not permitted."
            )
    here = basis.find(draft.subject, draft.version, deleted=False)
    if here is not None and here.schema_id != schema_id:
        raise errors.id_does_not_match()


def _ensure_mode(basis: Basis, draft: Draft, mode: Mode) -> None:
    basis.ensure_writable(draft.subject)
    where = f"Subject {draft.subject} in context {SubjectName.parse(draft.subject).prefix}"
    if draft.schema_id >= 0 and not mode.is_import:
        raise errors.not_permitted(f"{where} is not in import mode")
    if draft.schema_id < 0 and mode is not Mode.READWRITE:
        raise errors.not_permitted(f"{where} is not in read-write mode")


def _completed(
    basis: Basis, draft: Draft, previous: SchemaValue | None, *, propagate_tags: bool
) -> Draft:
    if not draft.schema.strip():
        if previous is None:
            raise errors.invalid_schema("Empty schema")
        draft = replace(
            draft,
            schema=previous.schema,
            schema_type=previous.schema_type,
            references=previous.references,
        )
    if propagate_tags and previous is not None:
        tags = tags_of(basis.parser.version(previous).schema)
        if tags:
            draft = _with_tags(basis, draft, tags, {})
    return draft


def with_requested_tags(basis: Basis, draft: Draft, request: RegisterRequest) -> Draft:
    """Return the schema of a request with the tags that the request adds and removes.

    Raises:
        RequestError: 42201, if a path leads to nothing.
    """
    if not request.tags_to_add and not request.tags_to_remove:
        return draft
    add, remove = by_entity(request.tags_to_add), by_entity(request.tags_to_remove)
    # The version is written into the metadata, so that it differs from the one before it.
    return replace(_with_tags(basis, draft, add, remove), version=draft.version or LATEST)


def _with_tags(
    basis: Basis,
    draft: Draft,
    add: Tags,
    remove: Tags,
) -> Draft:
    parsed = basis.parser.draft(draft, strict=False)
    return replace(parsed.draft, schema=with_tags(parsed.schema, add, remove))


def _ensure_no_strong_reference(basis: Basis, draft: Draft) -> None:
    parent = SubjectName.parse(draft.subject)
    for part in draft.references:
        found = basis.state.associations.of_subject(parent.child(part.subject).text)
        if any(value.lifecycle is Lifecycle.STRONG for value in found):
            raise errors.not_permitted(
                f"Subject '{part.subject}' has a strong association and cannot be referenced"
            )


def _ensure_rules(rules: RuleSet | None) -> None:
    try:
        if rules is not None:
            rules.validate()
    except InvalidRuleError as error:
        raise errors.invalid_rule_set(str(error)) from error


def _subject(basis: Basis, subject: str) -> str:
    for name in (subject, basis.resolved(subject)):
        if not is_valid(name):
            raise errors.invalid_subject(name)
    return basis.resolved(subject)


def _formatted(basis: Basis, answer: SchemaAnswer, form: str) -> RegisteredAnswer:
    return RegisteredAnswer(formatted(basis, answer, form))
