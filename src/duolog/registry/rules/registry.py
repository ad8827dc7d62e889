"""The registry: every request of its HTTP interface, without any I/O.

    read    method(…) -> answer                  at once, on any instance
    write   method(…) -> Decision                on the instance that leads
            append decision.records, replay them, send decision.answer

Answers are dataclasses; `answers.to_json` turns any of them into the registry's JSON. A request
that is refused raises `RequestError` with code, text and HTTP status.

Subjects are qualified names, see `duolog.registry.names`; requests under `/contexts/{c}/` pass
`names.in_context(c, subject)`. Aliases are followed here. Versions are texts as in the path of the
request: a number, `latest` or `-1`.

One thread, or one lock: nothing in here is safe for two.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import uuid4

from duolog.registry.records import decode
from duolog.registry.records.values import AssociationValue, Lifecycle
from duolog.registry.rules import (
    association_queries,
    associations,
    compatibility,
    deletion,
    listing,
    lookup,
    registration,
    settings_of_subjects,
)
from duolog.registry.rules.answers import (
    AssociationAnswer,
    BatchAnswer,
    CompatibilityAnswer,
    ConfigAnswer,
    ContextId,
    ModeAnswer,
    ModeUpdatedAnswer,
    RegisteredAnswer,
    ResourceAnswer,
    SchemaAnswer,
    SchemaTextAnswer,
    SubjectVersion,
)
from duolog.registry.rules.association_requests import AssociationQuery, AssociationRequest
from duolog.registry.rules.basis import Basis, list_page
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.parsing import ParseLanguage
from duolog.registry.rules.requests import (
    ConfigRequest,
    ModeRequest,
    Page,
    RegisterRequest,
    TagRequest,
)
from duolog.registry.rules.settings import RulesSettings
from duolog.registry.state import State
from duolog.schemas.languages import parse as parse_schema
from duolog.schemas.schema import Language

ALL: Final = Page()


class Registry:
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
        self.state = State()
        self._basis = Basis(self.state, settings or RulesSettings(), parse, new_guid)

    # State

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
        self.state.replay(decode(key, value), timestamp=timestamp)

    # Subjects and versions

    def subjects(
        self,
        prefix: str = ":*:",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        page: Page = ALL,
    ) -> tuple[str, ...]:
        """GET /subjects."""
        return listing.subjects(
            self._basis, prefix, deleted=deleted, deleted_only=deleted_only, page=page
        )

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        deleted_as_negative: bool = False,
        page: Page = ALL,
    ) -> tuple[int, ...]:
        """GET /subjects/{subject}/versions."""
        return listing.versions(
            self._basis,
            subject,
            deleted=deleted,
            deleted_only=deleted_only,
            deleted_as_negative=deleted_as_negative,
            page=page,
        )

    def version(
        self,
        subject: str,
        version: str,
        *,
        form: str = "",
        reference_form: str = "",
        deleted: bool = False,
        find_tags: Sequence[str] = (),
    ) -> SchemaAnswer:
        """GET /subjects/{subject}/versions/{version}; `.schema` of it is …/{version}/schema."""
        return listing.version(
            self._basis,
            subject,
            version,
            form=form,
            reference_form=reference_form,
            deleted=deleted,
            find_tags=find_tags,
        )

    def referenced_by(
        self,
        subject: str,
        version: str,
        *,
        deleted: bool = False,
        page: Page = ALL,
    ) -> tuple[int, ...]:
        """GET /subjects/{subject}/versions/{version}/referencedby."""
        return listing.referenced_by(self._basis, subject, version, deleted=deleted, page=page)

    def look_up(
        self,
        subject: str,
        request: RegisterRequest,
        *,
        normalize: bool = False,
        form: str = "",
        deleted: bool = False,
    ) -> SchemaAnswer:
        """POST /subjects/{subject}."""
        return lookup.look_up(
            self._basis, subject, request, normalize=normalize, form=form, deleted=deleted
        )

    def latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, form: str = "", deleted: bool = False
    ) -> SchemaAnswer:
        """GET /subjects/{subject}/metadata."""
        return listing.latest_with_metadata(
            self._basis, subject, properties, form=form, deleted=deleted
        )

    def registered(
        self, subject: str, request: RegisterRequest, *, normalize: bool = False, form: str = ""
    ) -> RegisteredAnswer | None:
        """Return the answer to a registration that changes nothing; None if the leader decides.

        Any instance answers most registrations by this, as clients register before they write.
        """
        return registration.registered(
            self._basis, subject, request, normalize=normalize, form=form
        )

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
        return registration.register(
            self._basis, subject, request, normalize=normalize, form=form, force=force
        )

    def change_tags(
        self, subject: str, version: str, request: TagRequest
    ) -> Decision[RegisteredAnswer]:
        """POST /subjects/{subject}/versions/{version}/tags."""
        return registration.change_tags(self._basis, subject, version, request)

    def delete_version(
        self, subject: str, version: str, *, permanent: bool = False
    ) -> Decision[int]:
        """DELETE /subjects/{subject}/versions/{version}."""
        return deletion.delete_version(self._basis, subject, version, permanent=permanent)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Decision[tuple[int, ...]]:
        """DELETE /subjects/{subject}."""
        return deletion.delete_subject(self._basis, subject, permanent=permanent)

    # Schemas

    def schemas(
        self,
        prefix: str = "",
        *,
        aliases: bool = False,
        deleted: bool = False,
        latest_only: bool = False,
        rule_type: str = "",
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycles: Sequence[str] = (),
        page: Page = ALL,
    ) -> tuple[SchemaAnswer, ...]:
        """GET /schemas; `lifecycles` are STRONG, WEAK and NONE."""
        found = listing.schemas(
            self._basis,
            prefix,
            aliases=aliases,
            deleted=deleted,
            latest_only=latest_only,
            rule_type=rule_type,
        )
        found = listing.with_associations(
            self._basis,
            found,
            resource_type=resource_type,
            association_types=association_types,
            lifecycles=lifecycles,
        )
        return self._basis.schema_page(found, page)

    def schema_by_id(
        self,
        schema_id: int,
        *,
        subject: str | None = None,
        form: str = "",
        reference_form: str = "",
        find_tags: Sequence[str] = (),
        max_id: bool = False,
    ) -> SchemaTextAnswer:
        """GET /schemas/ids/{id}; `.schema` of it is …/{id}/schema."""
        return listing.schema_by_id(
            self._basis,
            schema_id,
            subject=subject,
            form=form,
            reference_form=reference_form,
            find_tags=find_tags,
            max_id=max_id,
        )

    def subjects_of_id(
        self,
        schema_id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        page: Page = ALL,
    ) -> tuple[str, ...]:
        """GET /schemas/ids/{id}/subjects."""
        found = listing.versions_of_id(self._basis, schema_id, subject=subject, deleted=deleted)
        return list_page(dict.fromkeys(entry.subject for entry in found), page)

    def versions_of_id(
        self,
        schema_id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        page: Page = ALL,
    ) -> tuple[SubjectVersion, ...]:
        """GET /schemas/ids/{id}/versions."""
        found = listing.versions_of_id(self._basis, schema_id, subject=subject, deleted=deleted)
        return list_page(found, page)

    def schema_by_guid(self, guid: str, *, form: str = "") -> SchemaTextAnswer:
        """GET /schemas/guids/{guid}."""
        return listing.schema_by_guid(self._basis, guid, form=form)

    def ids_of_guid(self, guid: str) -> tuple[ContextId, ...]:
        """GET /schemas/guids/{guid}/ids."""
        return listing.ids_of_guid(self._basis, guid)

    def schema_types(self) -> tuple[str, ...]:
        """GET /schemas/types."""
        return tuple(Language)

    def compatibility(
        self,
        subject: str,
        version: str | None,
        request: RegisterRequest,
        *,
        normalize: bool = False,
        verbose: bool = False,
    ) -> CompatibilityAnswer:
        """POST /compatibility/subjects/{subject}/versions[/{version}]; None compares with all."""
        return compatibility.check(
            self._basis, subject, version, request, normalize=normalize, verbose=verbose
        )

    # Configurations and modes; a subject of None is the global one

    def config(self, subject: str | None, *, default_to_global: bool = False) -> ConfigAnswer:
        """GET /config[/{subject}]."""
        return settings_of_subjects.config(
            self._basis, subject, default_to_global=default_to_global
        )

    def change_config(self, subject: str | None, request: ConfigRequest) -> Decision[ConfigAnswer]:
        """PUT /config[/{subject}]."""
        return settings_of_subjects.change_config(self._basis, subject, request)

    def delete_config(self, subject: str | None) -> Decision[ConfigAnswer]:
        """DELETE /config[/{subject}]."""
        return settings_of_subjects.delete_config(self._basis, subject)

    def mode(self, subject: str | None, *, default_to_global: bool = False) -> ModeAnswer:
        """GET /mode[/{subject}]."""
        return settings_of_subjects.mode(self._basis, subject, default_to_global=default_to_global)

    def change_mode(
        self, subject: str | None, request: ModeRequest, *, force: bool = False
    ) -> Decision[ModeUpdatedAnswer]:
        """PUT /mode[/{subject}]."""
        return settings_of_subjects.change_mode(self._basis, subject, request, force=force)

    def delete_mode(self, subject: str | None, *, recursive: bool = False) -> Decision[ModeAnswer]:
        """DELETE /mode[/{subject}]."""
        return settings_of_subjects.delete_mode(self._basis, subject, recursive=recursive)

    # Contexts

    def contexts(self, *, prefix: str = "", page: Page = ALL) -> tuple[str, ...]:
        """GET /contexts."""
        return listing.contexts(self._basis, prefix, page)

    def delete_context(self, context: str) -> Decision[None]:
        """DELETE /contexts/{context}; answered with 204."""
        return deletion.delete_context(self._basis, context)

    # Associations; `context` is that of the path, empty without one

    def associations_of_subject(
        self,
        subject: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = ALL,
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/subjects/{subject}."""
        found = self.state.associations.of_subject(self._basis.resolved(subject))
        return self._shown(found, resource_type, association_types, lifecycle, page)

    def associations_of_resource(
        self,
        namespace: str,
        name: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = ALL,
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/resources/{namespace}/{name}; `-` means any namespace or name."""
        found = association_queries.of_resource(self._basis, namespace, name)
        return self._shown(found, resource_type, association_types, lifecycle, page)

    def associations_of_resource_id(
        self,
        resource_id: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = ALL,
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/resources/{id}."""
        found = self.state.associations.of_resource_id(resource_id)
        return self._shown(found, resource_type, association_types, lifecycle, page)

    def find_associations(
        self, queries: Sequence[AssociationQuery], *, schemas: bool = False
    ) -> BatchAnswer:
        """POST /associations:batchGet; answered with 207."""
        return association_queries.find_batch(self._basis, queries, schemas=schemas)

    def create_associations(
        self, request: AssociationRequest, *, context: str = "", dry_run: bool = False
    ) -> Decision[ResourceAnswer]:
        """POST /associations."""
        return associations.create(self._basis, request, context=context, dry_run=dry_run)

    def change_associations(
        self,
        resource_id: str,
        request: AssociationRequest,
        *,
        context: str = "",
        dry_run: bool = False,
    ) -> Decision[ResourceAnswer]:
        """PUT /associations/resources/{id}."""
        return associations.change(
            self._basis, resource_id, request, context=context, dry_run=dry_run
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
        return associations.delete(
            self._basis,
            resource_id,
            resource_type=resource_type,
            association_types=association_types,
            cascade=cascade,
            dry_run=dry_run,
        )

    def apply_batch(
        self, requests: Sequence[AssociationRequest], *, context: str = "", dry_run: bool = False
    ) -> Decision[BatchAnswer]:
        """POST /associations:batchMutate; answered with 207."""
        return associations.apply_batch(self._basis, requests, context=context, dry_run=dry_run)

    def _shown(
        self,
        values: Sequence[AssociationValue],
        resource_type: str | None,
        association_types: Sequence[str],
        lifecycle: Lifecycle | None,
        page: Page,
    ) -> tuple[AssociationAnswer, ...]:
        kind = resource_type or association_queries.TOPIC
        found = association_queries.chosen(values, kind, association_types, lifecycle)
        return self._basis.schema_page(map(AssociationAnswer, found), page)
