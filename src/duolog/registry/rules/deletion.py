"""Deleting versions, subjects and contexts.

A soft delete hides a version from listings and look-ups of its subject; its schema can still be
read by id. A hard delete, which needs a soft one before it, forgets the version. A version that
others refer to cannot be deleted.

Source: Confluent `deleteSchemaVersion`, `deleteSubject`, `deleteContext`.
"""

from collections.abc import Iterable
from dataclasses import replace

from duolog.registry import errors
from duolog.registry.names import context_of, normalized
from duolog.registry.records import Record
from duolog.registry.records.keys import (
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    ModeKey,
    SchemaKey,
)
from duolog.registry.records.values import DeleteSubjectValue, SchemaValue
from duolog.registry.rules.basis import Basis, version_number
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.highest_ids import kept_ids


def delete_version(basis: Basis, subject: str, version: str, *, permanent: bool) -> Decision[int]:
    """Decide on the deletion of a version; the answer is its number.

    Raises:
        RequestError: 40401, 40402, 40406, 40407, 40907, 42202, 42205, 42206.
    """
    number = version_number(version)
    subject = basis.resolved(subject)
    value = basis.find(subject, number, deleted=True)
    if value is None:
        if not basis.versions.exist(subject, deleted=True):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(number)
    if value.deleted and not permanent:
        raise errors.version_soft_deleted(subject, number)
    basis.ensure_writable(subject)
    key = SchemaKey(subject, value.version)
    others = [other for other in basis.versions.active(subject) if other.version != value.version]
    if not permanent and not others and basis.state.associations.of_subject(subject):
        raise errors.no_active_version(subject)
    if any(permanent or not other.deleted for other in basis.versions.referrers(key)):
        raise errors.reference_exists(str(key))
    if not permanent:
        hidden = replace(value, deleted=True, timestamp=None)
        return Decision(value.version, (Record(key, hidden),))
    if not value.deleted:
        raise errors.version_not_soft_deleted(subject, value.version)
    records = hard_deletes(basis, [value])
    if len(basis.versions.of(subject)) == 1:
        records += _settings(basis, subject)
    return Decision(value.version, tuple(records))


def delete_subject(basis: Basis, subject: str, *, permanent: bool) -> Decision[tuple[int, ...]]:
    """Decide on the deletion of a subject; the answer is the numbers of its versions.

    Raises:
        RequestError: 40401, 40404, 40405, 40904, 42205, 42206.
    """
    subject = basis.resolved(subject)
    if not basis.versions.exist(subject, deleted=True):
        raise errors.subject_not_found(subject)
    if not permanent and not basis.versions.exist(subject, deleted=False):
        raise errors.subject_soft_deleted(subject)
    basis.ensure_writable(subject)
    if basis.state.associations.of_subject(subject):
        raise errors.association_of_subject_exists(subject)
    values = basis.versions.of(subject) if permanent else basis.versions.active(subject)
    numbers = tuple(value.version for value in values)
    for value in values:
        key = SchemaKey(subject, value.version)
        # Versions may refer to others of their own subject: they are deleted together.
        if any(
            other.subject != subject and (permanent or not other.deleted)
            for other in basis.versions.referrers(key)
        ):
            raise errors.reference_exists(str(key))
        if permanent and not value.deleted:
            raise errors.subject_not_soft_deleted(subject)
    if not permanent:
        last = DeleteSubjectValue(numbers[-1] if numbers else 0)
        return Decision(numbers, (Record(DeleteSubjectKey(subject), last),))
    records = [*hard_deletes(basis, reversed(values)), *_settings(basis, subject)]
    return Decision(numbers, tuple(records))


def delete_context(basis: Basis, context: str) -> Decision[None]:
    """Decide on the deletion of a context.

    Raises:
        RequestError: 42211.
    """
    context = normalized(context)
    if basis.versions.exist(context, deleted=True):
        raise errors.context_not_empty(context)
    return Decision(None, (Record(ContextKey(context_of(context)), None),))


def hard_deletes(basis: Basis, values: Iterable[SchemaValue]) -> list[Record]:
    """Return the records that forget versions, and that keep their ids from being given out."""
    values = list(values)
    tombstones = [Record(SchemaKey(value.subject, value.version), None) for value in values]
    return tombstones + kept_ids(basis, values)


def _settings(basis: Basis, subject: str) -> list[Record]:
    records: list[Record] = []
    if subject in basis.state.scopes.modes:
        records.append(Record(ModeKey(subject), None))
    if subject in basis.state.scopes.configs:
        records.append(Record(ConfigKey(subject), None))
    return records
