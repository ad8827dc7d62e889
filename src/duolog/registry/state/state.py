"""The state of the registry.

`replay` is the only way in which it changes. `trial` lets a rule replay records that may never be
written.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from duolog.registry.contracts.ordering import java_order
from duolog.registry.names import DEFAULT_CONTEXT
from duolog.registry.records.keys import (
    AssociationKey,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    HighestIdsKey,
    ModeKey,
    SchemaKey,
)
from duolog.registry.records.record import Record
from duolog.registry.records.values import (
    AssociationValue,
    ConfigValue,
    DeleteSubjectValue,
    HighestIdsValue,
    ModeValue,
    SchemaValue,
)
from duolog.registry.state.associations import Associations
from duolog.registry.state.journal import Journal
from duolog.registry.state.scopes import Scopes
from duolog.registry.state.versions import Versions


class State:
    """Subjects and versions, configurations and modes, contexts, associations."""

    def __init__(self) -> None:
        self._journal = Journal()
        self.versions = Versions(self._journal)
        self.scopes = Scopes(self._journal)
        self.associations = Associations(self._journal)
        self._contexts: dict[str, None] = {}

    def contexts(self) -> list[str]:
        """Return the names of all contexts, the default one first."""
        return [DEFAULT_CONTEXT, *sorted(self._contexts, key=java_order)]

    def knows_context(self, context: str) -> bool:
        """Return whether a record names the context."""
        return context in self._contexts

    def replay(  # noqa: PLR0912 - one branch for each kind of record
        self, record: Record, *, timestamp: int | None = None
    ) -> None:
        """Apply a record.

        Raises:
            DamagedRecordError: it contradicts an earlier one; the state is as before.
        """
        match record.key, record.value:
            case SchemaKey() as key, None:
                self.versions.remove(key)
            case SchemaKey(), SchemaValue() as value:
                self.versions.put(replace(value, timestamp=timestamp))
            case ConfigKey(subject), (ConfigValue() | None) as config:
                self.scopes.put_config(subject, config)
            case ModeKey(subject), value:
                self.scopes.put_mode(subject, value.mode if isinstance(value, ModeValue) else None)
            case DeleteSubjectKey(subject), DeleteSubjectValue(version):
                self.versions.soft_delete(subject, version)
            case ClearSubjectKey(subject), value if value is not None:
                self.versions.forget_deleted(subject)
            case ContextKey(context), None:
                self._journal.remove(self._contexts, context)
            case ContextKey(context), _ if context != DEFAULT_CONTEXT:
                self._journal.put(self._contexts, context, None)
            case AssociationKey() as key, None:
                self.associations.remove(key)
            case AssociationKey() as key, AssociationValue() as value:
                self.associations.put(key, replace(value, timestamp=timestamp))
            case HighestIdsKey(), HighestIdsValue(ids):
                for context, number in ids.items():
                    self.versions.raise_highest_id(context, number)
            case _:
                pass  # tombstones of deletes, and NOOP

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Take back everything that is replayed within."""
        with self._journal.trial():
            yield

    def replay_all(self, records: Iterable[Record]) -> None:
        """Apply records that a rule has just made, within a trial."""
        for record in records:
            self.replay(record)
