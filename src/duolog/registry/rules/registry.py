"""The registry: every request of its HTTP interface, without any I/O.

    read    method(…) -> answer                  at once, on any instance; see reader.py
    write   method(…) -> Decision                on the instance that leads
            append decision.records, replay them, send decision.answer

Answers are dataclasses; `answers.to_json` turns any of them into the registry's JSON. A request
that is refused raises `RequestError` with code, text and HTTP status.

Subjects are qualified names, see `duolog.registry.names`; requests under `/contexts/{c}/` pass
`names.in_context(c, subject)`. Aliases are followed here. Versions are texts as in the path of the
request: a number, `latest` or `-1`.

One thread, or one lock: nothing in here is safe for two.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import uuid4

from duolog.registry.records import decode
from duolog.registry.rules import associations, deletion, registration, settings_of_subjects
from duolog.registry.rules.answers import (
    BatchAnswer,
    ConfigAnswer,
    ModeAnswer,
    ModeUpdatedAnswer,
    RegisteredAnswer,
    ResourceAnswer,
)
from duolog.registry.rules.association_requests import AssociationRequest
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.parsing import ParseLanguage
from duolog.registry.rules.reader import RegistryReader
from duolog.registry.rules.requests import (
    ConfigRequest,
    ModeRequest,
    RegisterRequest,
    TagRequest,
)
from duolog.registry.rules.settings import RulesSettings
from duolog.registry.state import State
from duolog.registry.state.foreign_keys import ForeignKeys
from duolog.schemas.languages import parse as parse_schema

A = TypeVar("A")


class Registry(RegistryReader):
    """All subjects with their versions, configurations, modes and associations.

    Attributes:
        state: the result of the records replayed so far.
    """

    def __init__(
        self,
        settings: RulesSettings | None = None,
        *,
        parse: ParseLanguage = parse_schema,
        new_guid: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        state = State()
        super().__init__(state, Basis(state, settings or RulesSettings(), parse, new_guid))
        self._foreign_keys = ForeignKeys()

    def replay(self, key: bytes | None, value: bytes | None, *, timestamp: int | None) -> None:
        """Apply a record of `_schemas`; the only way in which the state changes.

        Args:
            key: the key of the record.
            value: its value; None for a tombstone.
            timestamp: of the record, in milliseconds.

        Raises:
            DamagedRecordError: no registry wrote it, or it contradicts an earlier one. The state
                is as before: the caller may skip the record.
        """
        record = decode(key, value)
        self.state.replay(record, timestamp=timestamp)
        self._foreign_keys.note(record, key or b"")

    # Subjects and versions

    def register(
        self,
        subject: str,
        request: RegisterRequest,
        *,
        normalize: bool = False,
        form: str = "",
        force: bool = False,
    ) -> Decision[RegisteredAnswer]:
        """POST /subjects/{subject}/versions."""
        return self._complete(
            registration.register(
                self._basis, subject, request, normalize=normalize, form=form, force=force
            )
        )

    def change_tags(
        self, subject: str, version: str, request: TagRequest
    ) -> Decision[RegisteredAnswer]:
        """POST /subjects/{subject}/versions/{version}/tags."""
        return self._complete(registration.change_tags(self._basis, subject, version, request))

    def delete_version(
        self, subject: str, version: str, *, permanent: bool = False
    ) -> Decision[int]:
        """DELETE /subjects/{subject}/versions/{version}."""
        return self._complete(
            deletion.delete_version(self._basis, subject, version, permanent=permanent)
        )

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Decision[tuple[int, ...]]:
        """DELETE /subjects/{subject}."""
        return self._complete(deletion.delete_subject(self._basis, subject, permanent=permanent))

    # Configurations and modes; a subject of None is the global one

    def change_config(self, subject: str | None, request: ConfigRequest) -> Decision[ConfigAnswer]:
        """PUT /config[/{subject}]."""
        return self._complete(settings_of_subjects.change_config(self._basis, subject, request))

    def delete_config(self, subject: str | None) -> Decision[ConfigAnswer]:
        """DELETE /config[/{subject}]."""
        return self._complete(settings_of_subjects.delete_config(self._basis, subject))

    def change_mode(
        self, subject: str | None, request: ModeRequest, *, force: bool = False
    ) -> Decision[ModeUpdatedAnswer]:
        """PUT /mode[/{subject}]."""
        return self._complete(
            settings_of_subjects.change_mode(self._basis, subject, request, force=force)
        )

    def delete_mode(self, subject: str | None, *, recursive: bool = False) -> Decision[ModeAnswer]:
        """DELETE /mode[/{subject}]."""
        return self._complete(
            settings_of_subjects.delete_mode(self._basis, subject, recursive=recursive)
        )

    # Contexts

    def delete_context(self, context: str) -> Decision[None]:
        """DELETE /contexts/{context}; answered with 204."""
        return self._complete(deletion.delete_context(self._basis, context))

    # Associations; `context` is that of the path, empty without one

    def create_associations(
        self, request: AssociationRequest, *, context: str = "", dry_run: bool = False
    ) -> Decision[ResourceAnswer]:
        """POST /associations."""
        return self._complete(
            associations.create(self._basis, request, context=context, dry_run=dry_run)
        )

    def change_associations(
        self,
        resource_id: str,
        request: AssociationRequest,
        *,
        context: str = "",
        dry_run: bool = False,
    ) -> Decision[ResourceAnswer]:
        """PUT /associations/resources/{id}."""
        return self._complete(
            associations.change(self._basis, resource_id, request, context=context, dry_run=dry_run)
        )

    def delete_associations(
        self,
        resource_id: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        cascade: bool = False,
        dry_run: bool = False,
    ) -> Decision[None]:
        """DELETE /associations/resources/{id}; answered with 204."""
        return self._complete(
            associations.delete(
                self._basis,
                resource_id,
                resource_type=resource_type,
                association_types=association_types,
                cascade=cascade,
                dry_run=dry_run,
            )
        )

    def apply_batch(
        self, requests: Sequence[AssociationRequest], *, context: str = "", dry_run: bool = False
    ) -> Decision[BatchAnswer]:
        """POST /associations:batchMutate; answered with 207."""
        return self._complete(
            associations.apply_batch(self._basis, requests, context=context, dry_run=dry_run)
        )

    def _complete(self, decision: Decision[A]) -> Decision[A]:
        """Also delete the records that other registries wrote under the same keys."""
        return Decision(decision.answer, self._foreign_keys.replaced(decision.records))
