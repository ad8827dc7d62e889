"""Subjects and their versions, with what finds a version by its id, content or references.

The indexes are functions of the versions alone: which of two equal entries was written last does
not matter, so that a compacted topic gives the same answers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from duolog.registry.contracts.guid import content_hash
from duolog.registry.contracts.ordering import java_order
from duolog.registry.errors import DamagedRecordError
from duolog.registry.names import GLOBAL_CONTEXT, SubjectName, context_of
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import SchemaValue
from duolog.registry.state.journal import Journal

_K = TypeVar("_K")
_Keys = dict[SchemaKey, None]


class Versions:
    """All versions of all subjects."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._subjects: dict[str, dict[int, SchemaValue]] = {}
        self._contexts: dict[str, dict[str, None]] = {}
        self._by_id: dict[tuple[str, int], _Keys] = {}
        self._by_content: dict[tuple[str, bytes], _Keys] = {}
        self._referrers: dict[SchemaKey, _Keys] = {}
        self._highest_ids: dict[str, int] = {}
        self._sorted: list[str] | None = None

    # Reading

    def get(self, key: SchemaKey) -> SchemaValue | None:
        """Return a version, also a soft-deleted one."""
        return self._subjects.get(key.subject, {}).get(key.version)

    def of(self, subject: str) -> list[SchemaValue]:
        """Return the versions of a subject in ascending order, also soft-deleted ones."""
        versions = self._subjects.get(subject, {})
        return [versions[number] for number in sorted(versions)]

    def active(self, subject: str) -> list[SchemaValue]:
        """Return the versions of a subject in ascending order, without soft-deleted ones."""
        return [value for value in self.of(subject) if not value.deleted]

    def latest(self, subject: str) -> SchemaValue | None:
        """Return the highest version that is not soft-deleted."""
        versions = self._subjects.get(subject, {})
        active = [number for number, value in versions.items() if not value.deleted]
        return versions[max(active)] if active else None

    def subjects(self, *, context: str | None = None) -> list[str]:
        """Return the subjects of a context, or of all, in order; also soft-deleted ones."""
        if context is not None:
            return sorted(self._contexts.get(context, ()), key=java_order)
        if self._sorted is None:
            self._sorted = sorted(self._subjects, key=java_order)
        return self._sorted

    def matching(self, subject: str | None) -> list[str]:
        """Return the subject itself, or all subjects of the context that the name stands for."""
        if subject is None:
            return self.subjects()
        name = SubjectName.parse(subject)
        if name.name:
            return [subject] if subject in self._subjects else []
        return self.subjects(context=None if name.context == GLOBAL_CONTEXT else name.context)

    def exist(self, subject: str | None, *, deleted: bool) -> bool:
        """Return whether a subject or context has versions; `deleted` counts soft-deleted ones."""
        return any(deleted or self.latest(name) is not None for name in self.matching(subject))

    def with_id(self, context: str, schema_id: int) -> list[SchemaValue]:
        """Return the versions with an id, ordered by subject and version."""
        return self._values(self._by_id.get((context, schema_id), {}))

    def with_content(self, context: str, content: bytes) -> list[SchemaValue]:
        """Return the versions with this hash of their content, ordered by subject and version."""
        return self._values(self._by_content.get((context, content), {}))

    def referrers(self, key: SchemaKey) -> list[SchemaValue]:
        """Return the versions that refer to this one, also soft-deleted ones."""
        return self._values(self._referrers.get(key, {}))

    def highest_id(self, context: str) -> int:
        """Return the highest id that the context has ever given out; 0 if none."""
        return self._highest_ids.get(context, 0)

    @property
    def highest_ids(self) -> Mapping[str, int]:
        """The highest id of each context."""
        return self._highest_ids

    def _values(self, keys: Mapping[SchemaKey, None]) -> list[SchemaValue]:
        ordered = sorted(keys, key=lambda key: (java_order(key.subject), key.version))
        return [self._subjects[key.subject][key.version] for key in ordered]

    # Writing

    def put(self, value: SchemaValue) -> None:
        """Add or replace a version.

        Raises:
            DamagedRecordError: the id belongs to another schema.
        """
        context = context_of(value.subject)
        key = SchemaKey(value.subject, value.version)
        if value.schema_id is None:
            value = replace(value, schema_id=self._id_for(context, value))
        assert value.schema_id is not None
        for other in self._by_id.get((context, value.schema_id), {}):
            known = self._subjects[other.subject][other.version]
            if known.schema != value.schema:
                raise DamagedRecordError(
                    f"id {value.schema_id} of context {context} stands for two schemas",
                    detail=f"{other} has it, and so has {key}.",
                )
            # One object for equal texts.
            value = replace(value, schema=known.schema)
            break
        self.remove(key)
        self._add(context, key, value)

    def remove(self, key: SchemaKey) -> None:
        """Forget a version."""
        value = self.get(key)
        if value is None:
            return
        assert value.schema_id is not None
        context = context_of(key.subject)
        self._unlink(self._by_id, (context, value.schema_id), key)
        self._unlink(self._by_content, (context, content_of(value)), key)
        for referred in referred_keys(value):
            self._unlink(self._referrers, referred, key)
        versions = self._subjects[key.subject]
        self._journal.remove(versions, key.version)
        if not versions:
            self._journal.remove(self._subjects, key.subject)
            self._journal.remove(self._contexts[context], key.subject)
            self._forget_order()

    def soft_delete(self, subject: str, up_to: int) -> None:
        """Mark the versions of a subject up to a number as deleted."""
        versions = self._subjects.get(subject, {})
        for number, value in list(versions.items()):
            if number <= up_to and not value.deleted:
                self._journal.put(versions, number, replace(value, deleted=True))

    def forget_deleted(self, subject: str | None) -> None:
        """Forget the soft-deleted versions of a subject or context."""
        for name in list(self.matching(subject)):
            for value in self.of(name):
                if value.deleted:
                    self.remove(SchemaKey(name, value.version))

    def raise_highest_id(self, context: str, schema_id: int) -> None:
        """Give out no id up to this one."""
        if schema_id > self.highest_id(context):
            self._journal.put(self._highest_ids, context, schema_id)

    def _add(self, context: str, key: SchemaKey, value: SchemaValue) -> None:
        assert value.schema_id is not None
        if key.subject not in self._subjects:
            self._journal.put(self._subjects, key.subject, {})
            if context not in self._contexts:
                self._journal.put(self._contexts, context, {})
            self._journal.put(self._contexts[context], key.subject, None)
            self._forget_order()
        self._journal.put(self._subjects[key.subject], key.version, value)
        self._link(self._by_id, (context, value.schema_id), key)
        self._link(self._by_content, (context, content_of(value)), key)
        for referred in referred_keys(value):
            self._link(self._referrers, referred, key)
        self.raise_highest_id(context, value.schema_id)

    def _forget_order(self) -> None:
        self._sorted = None
        self._journal.on_undo(self._forget_order)

    def _id_for(self, context: str, value: SchemaValue) -> int:
        known = self.with_content(context, content_of(value))
        if known and known[0].schema_id is not None:
            return known[0].schema_id
        return self.highest_id(context) + 1

    def _link(self, index: dict[_K, _Keys], entry: _K, key: SchemaKey) -> None:
        if entry not in index:
            self._journal.put(index, entry, {})
        self._journal.put(index[entry], key, None)

    def _unlink(self, index: dict[_K, _Keys], entry: _K, key: SchemaKey) -> None:
        if entry in index:
            self._journal.remove(index[entry], key)
            if not index[entry]:
                self._journal.remove(index, entry)


def content_of(value: SchemaValue) -> bytes:
    """Return the bytes of the version's GUID."""
    if value.md5 is not None:
        return value.md5
    return content_hash(value.schema, value.references, value.metadata, value.rule_set)


def referred_keys(value: SchemaValue) -> Iterator[SchemaKey]:
    """Yield the versions that a version refers to, by their qualified subjects."""
    if value.references:
        parent = SubjectName.parse(value.subject)
        for part in value.references:
            yield SchemaKey(parent.child(part.subject).text, part.version)
