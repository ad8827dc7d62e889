"""Schemas by id and GUID, and compatibility."""

from collections.abc import Sequence

from duolog.registry.errors import invalid_schema
from duolog.registry.http.parameters import MalformedParameter
from duolog.registry.operations.asked import Asked
from duolog.registry.operations.raw_text import RawText
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.parsing import ParseAhead
from duolog.registry.rules.requests import RegisterRequest
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText


def list_schemas(asked: Asked) -> Answer:
    return asked.seen.schemas(
        asked.text("subjectPrefix"),
        aliases=asked.flag("aliases"),
        deleted=asked.flag("deleted"),
        latest_only=asked.flag("latestOnly"),
        rule_type=asked.text("ruleType"),
        resource_type=asked.query.text("resourceType"),
        association_types=asked.query.texts("associationType"),
        lifecycles=_lifecycles(asked.query.texts("lifecycle")),
        page=asked.page,
    )


def _lifecycles(names: Sequence[str]) -> Sequence[str]:
    if any(name not in {"STRONG", "WEAK", "NONE"} for name in names):
        raise MalformedParameter
    return names


def schema_types(asked: Asked) -> Answer:
    return asked.rules.schema_types()


def schema_by_id(asked: Asked) -> Answer:
    return asked.seen.schema_by_id(
        asked.id,
        subject=asked.query.text("subject"),
        form=asked.text("format"),
        reference_form=asked.text("referenceFormat"),
        find_tags=asked.query.texts("findTags"),
        max_id=asked.flag("fetchMaxId"),
    )


def schema_text_by_id(asked: Asked) -> Answer:
    found = asked.seen.schema_by_id(
        asked.id, subject=asked.query.text("subject"), form=asked.text("format")
    )
    return RawText(found.schema)


def subjects_of_id(asked: Asked) -> Answer:
    schema_id = asked.id
    return asked.seen.subjects_of_id(
        schema_id,
        subject=asked.query.text("subject"),
        deleted=asked.flag("deleted"),
        page=asked.page,
    )


def versions_of_id(asked: Asked) -> Answer:
    schema_id = asked.id
    return asked.seen.versions_of_id(
        schema_id,
        subject=asked.query.text("subject"),
        deleted=asked.flag("deleted"),
        page=asked.page,
    )


def schema_by_guid(asked: Asked) -> Answer:
    return asked.seen.schema_by_guid(asked.guid, form=asked.text("format"))


def ids_of_guid(asked: Asked) -> Answer:
    return asked.seen.ids_of_guid(asked.guid)


def check_compatibility(asked: Asked) -> Answer:
    return asked.seen.compatibility(
        asked.readable,
        asked.call.path.get("version"),
        asked.schema,
        normalize=asked.flag("normalize"),
        verbose=asked.flag("verbose"),
    )


def parse_ahead(asked: Asked) -> ParseAhead | None:
    """Return what parses the schema of a call on another thread; None if it is short.

    Raises:
        RequestError: the user may not do this, or the schema has an unknown reference.
    """
    writes = asked.call.endpoint.operation == "register"
    subject = asked.writable if writes else asked.readable
    return asked.rules.parse_ahead(subject, asked.schema)


def text_of(request: RegisterRequest) -> SchemaText:
    """Return the schema of a request.

    Raises:
        RequestError: 42201, if its language is unknown.
    """
    if request.schema_type not in Language.__members__:
        raise invalid_schema(f"Invalid schema type {request.schema_type}")
    language = Language[request.schema_type]
    return SchemaText(language, request.schema or "", tuple(request.references))
