"""Subjects of resources, which are topics: found by resource, by id of the resource, by subject."""

from collections.abc import Iterable
from dataclasses import replace

from duolog.registry.contracts.ordering import java_order
from duolog.registry.records.keys import AssociationKey
from duolog.registry.records.values import AssociationValue
from duolog.registry.state.journal import Journal

_Keys = dict[AssociationKey, None]


class Associations:
    """All associations."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._values: dict[AssociationKey, AssociationValue] = {}
        self._by_subject: dict[str, _Keys] = {}
        self._by_resource_id: dict[str, _Keys] = {}
        self._by_resource_name: dict[str, _Keys] = {}

    def all(self) -> list[AssociationValue]:
        """Return all associations in order."""
        return _ordered(self._values.values())

    def of_subject(self, subject: str) -> list[AssociationValue]:
        """Return the associations of a qualified subject in order."""
        return self._found(self._by_subject.get(subject, {}))

    def of_resource_id(self, resource_id: str) -> list[AssociationValue]:
        """Return the associations of a resource in order."""
        return self._found(self._by_resource_id.get(resource_id, {}))

    def of_resource_name(self, name: str) -> list[AssociationValue]:
        """Return the associations of the resources of this name in order."""
        return self._found(self._by_resource_name.get(name, {}))

    def put(self, key: AssociationKey, value: AssociationValue) -> None:
        """Add or replace an association; the time of its creation stays.

        Another resource of the same name takes the place of the one before it.
        """
        old = self._values.get(key)
        if value.create_timestamp is None:
            is_new = old is None or old.guid != value.guid
            created = value.timestamp if old is None or is_new else old.create_timestamp
            value = replace(value, create_timestamp=created)
        self.remove(key)
        self._journal.put(self._values, key, value)
        for index, entry in self._entries(key, value):
            if entry not in index:
                self._journal.put(index, entry, {})
            self._journal.put(index[entry], key, None)

    def remove(self, key: AssociationKey) -> None:
        """Forget an association."""
        value = self._values.get(key)
        if value is None:
            return
        self._journal.remove(self._values, key)
        for index, entry in self._entries(key, value):
            self._journal.remove(index[entry], key)
            if not index[entry]:
                self._journal.remove(index, entry)

    def _entries(
        self, key: AssociationKey, value: AssociationValue
    ) -> tuple[tuple[dict[str, _Keys], str], ...]:
        return (
            (self._by_subject, key.subject),
            (self._by_resource_id, value.resource_id),
            (self._by_resource_name, key.resource_name),
        )

    def _found(self, keys: _Keys) -> list[AssociationValue]:
        return _ordered(self._values[key] for key in keys)


def key_of(value: AssociationValue) -> AssociationKey:
    """Return the key of an association."""
    return AssociationKey(
        value.resource_name,
        value.resource_namespace,
        value.resource_type,
        value.association_type,
        value.subject,
    )


def _ordered(values: Iterable[AssociationValue]) -> list[AssociationValue]:
    return sorted(
        values,
        key=lambda value: (
            java_order(value.resource_name),
            java_order(value.resource_namespace),
            java_order(value.resource_type),
            java_order(value.association_type),
            java_order(value.subject),
        ),
    )
