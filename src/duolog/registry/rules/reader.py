"""The requests of the registry that change nothing; any instance answers them.

See `registry.py` for names of subjects, versions and errors.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.registry.records.values import AssociationValue, Lifecycle
from duolog.registry.rules import (
    association_queries,
    compatibility,
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
    RegisteredAnswer,
    SchemaAnswer,
    SchemaTextAnswer,
    SubjectVersion,
)
from duolog.registry.rules.association_requests import AssociationQuery
from duolog.registry.rules.basis import Basis, Sees, list_page
from duolog.registry.rules.canonical import draft_of
from duolog.registry.rules.parsing import ParseAhead
from duolog.registry.rules.requests import Page, RegisterRequest
from duolog.registry.state import State
from duolog.schemas.schema import Language

ALL: Final = Page()


class RegistryReader:
    """All subjects with their versions, configurations, modes and associations, to read."""

    def __init__(self, state: State, basis: Basis) -> None:
        self.state = state
        self._basis = basis

    def seen_by(self, sees: Sees) -> "RegistryReader":
        """Return the part of the registry that a client may see; to it, nothing else exists."""
        return RegistryReader(self.state, self._basis.seen_by(sees))

    def target(self, subject: str) -> str:
        """Return the qualified subject that a name stands for, through its alias if it has one."""
        return self._basis.resolved(subject)

    def parse_ahead(self, subject: str, request: RegisterRequest) -> ParseAhead | None:
        """Return what parses the schema of a request on another thread; None if it is short.

        Raises:
            RequestError: 42201, if a reference leads to nothing.
        """
        return self._basis.parser.ahead(draft_of(subject, request))

    def keep_parsed(self, parsed: ParseAhead) -> None:
        """Keep what was parsed ahead, for the request that follows."""
        self._basis.parser.keep(parsed)

    def release_parsed(self, parsed: ParseAhead) -> None:
        """Drop what was parsed ahead, after the request."""
        self._basis.parser.release(parsed)

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

    def mode(self, subject: str | None, *, default_to_global: bool = False) -> ModeAnswer:
        """GET /mode[/{subject}]."""
        return settings_of_subjects.mode(self._basis, subject, default_to_global=default_to_global)

    # Contexts

    def contexts(self, *, prefix: str = "", page: Page = ALL) -> tuple[str, ...]:
        """GET /contexts."""
        return listing.contexts(self._basis, prefix, page)

    # Associations

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

    def _shown(
        self,
        values: Sequence[AssociationValue],
        resource_type: str | None,
        association_types: Sequence[str],
        lifecycle: Lifecycle | None,
        page: Page,
    ) -> tuple[AssociationAnswer, ...]:
        kind = resource_type or association_queries.TOPIC
        found = association_queries.chosen(
            self._basis.shown(values), kind, association_types, lifecycle
        )
        return self._basis.schema_page(map(AssociationAnswer, found), page)
