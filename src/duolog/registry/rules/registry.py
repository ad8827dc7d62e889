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

from collections.abc import Mapping, Sequence
from typing import Protocol

from duolog.registry.records.values import Lifecycle
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
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.requests import (
    ConfigRequest,
    ModeRequest,
    Page,
    RegisterRequest,
    TagRequest,
)


class Registry(Protocol):
    """All subjects with their versions, configurations, modes and associations."""

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

    # Subjects and versions

    def subjects(
        self,
        prefix: str = ":*:",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[str, ...]:
        """GET /subjects."""

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        deleted_as_negative: bool = False,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[int, ...]:
        """GET /subjects/{subject}/versions."""

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

    def referenced_by(
        self,
        subject: str,
        version: str,
        *,
        deleted: bool = False,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[int, ...]:
        """GET /subjects/{subject}/versions/{version}/referencedby."""

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

    def latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, form: str = "", deleted: bool = False
    ) -> SchemaAnswer:
        """GET /subjects/{subject}/metadata."""

    def registered(
        self, subject: str, request: RegisterRequest, *, normalize: bool = False, form: str = ""
    ) -> RegisteredAnswer | None:
        """Return the answer to a registration that changes nothing; None if the leader decides.

        Any instance answers most registrations by this, as clients register before they write.
        """

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

    def change_tags(
        self, subject: str, version: str, request: TagRequest
    ) -> Decision[RegisteredAnswer]:
        """POST /subjects/{subject}/versions/{version}/tags."""

    def delete_version(
        self, subject: str, version: str, *, permanent: bool = False
    ) -> Decision[int]:
        """DELETE /subjects/{subject}/versions/{version}."""

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Decision[tuple[int, ...]]:
        """DELETE /subjects/{subject}."""

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
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[SchemaAnswer, ...]:
        """GET /schemas; `lifecycles` are STRONG, WEAK and NONE."""

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

    def subjects_of_id(
        self,
        schema_id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[str, ...]:
        """GET /schemas/ids/{id}/subjects."""

    def versions_of_id(
        self,
        schema_id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[SubjectVersion, ...]:
        """GET /schemas/ids/{id}/versions."""

    def schema_by_guid(self, guid: str, *, form: str = "") -> SchemaTextAnswer:
        """GET /schemas/guids/{guid}."""

    def ids_of_guid(self, guid: str) -> tuple[ContextId, ...]:
        """GET /schemas/guids/{guid}/ids."""

    def schema_types(self) -> tuple[str, ...]:
        """GET /schemas/types."""

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

    # Configurations and modes; a subject of None is the global one

    def config(self, subject: str | None, *, default_to_global: bool = False) -> ConfigAnswer:
        """GET /config[/{subject}]."""

    def change_config(self, subject: str | None, request: ConfigRequest) -> Decision[ConfigAnswer]:
        """PUT /config[/{subject}]."""

    def delete_config(self, subject: str | None) -> Decision[ConfigAnswer]:
        """DELETE /config[/{subject}]."""

    def mode(self, subject: str | None, *, default_to_global: bool = False) -> ModeAnswer:
        """GET /mode[/{subject}]."""

    def change_mode(
        self, subject: str | None, request: ModeRequest, *, force: bool = False
    ) -> Decision[ModeUpdatedAnswer]:
        """PUT /mode[/{subject}]."""

    def delete_mode(self, subject: str | None, *, recursive: bool = False) -> Decision[ModeAnswer]:
        """DELETE /mode[/{subject}]."""

    # Contexts

    def contexts(self, *, prefix: str = "", page: Page = Page()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """GET /contexts."""

    def delete_context(self, context: str) -> Decision[None]:
        """DELETE /contexts/{context}; answered with 204."""

    # Associations; `context` is that of the path, empty without one

    def associations_of_subject(
        self,
        subject: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/subjects/{subject}."""

    def associations_of_resource(
        self,
        namespace: str,
        name: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/resources/{namespace}/{name}; `-` means any namespace or name."""

    def associations_of_resource_id(
        self,
        resource_id: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: Lifecycle | None = None,
        page: Page = Page(),  # noqa: B008 - frozen
    ) -> tuple[AssociationAnswer, ...]:
        """GET /associations/resources/{id}."""

    def find_associations(
        self, queries: Sequence[AssociationQuery], *, schemas: bool = False
    ) -> BatchAnswer:
        """POST /associations:batchGet; answered with 207."""

    def create_associations(
        self, request: AssociationRequest, *, context: str = "", dry_run: bool = False
    ) -> Decision[ResourceAnswer]:
        """POST /associations."""

    def change_associations(
        self,
        resource_id: str,
        request: AssociationRequest,
        *,
        context: str = "",
        dry_run: bool = False,
    ) -> Decision[ResourceAnswer]:
        """PUT /associations/resources/{id}."""

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

    def apply_batch(
        self, requests: Sequence[AssociationRequest], *, context: str = "", dry_run: bool = False
    ) -> Decision[BatchAnswer]:
        """POST /associations:batchMutate; answered with 207."""
