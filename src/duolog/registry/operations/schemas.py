"""Schemas by id and GUID, and compatibility."""

from collections.abc import Sequence

from duolog.registry.http.parameters import MalformedParameter
from duolog.registry.operations.asked import Asked
from duolog.registry.operations.raw_text import RawText
from duolog.registry.rules.answers import Answer


def list_schemas(asked: Asked) -> Answer:
    return asked.allows.listed(
        lambda page: asked.rules.schemas(
            asked.text("subjectPrefix"),
            aliases=asked.flag("aliases"),
            deleted=asked.flag("deleted"),
            latest_only=asked.flag("latestOnly"),
            rule_type=asked.text("ruleType"),
            resource_type=asked.query.text("resourceType"),
            association_types=asked.query.texts("associationType"),
            lifecycles=_lifecycles(asked.query.texts("lifecycle")),
            page=page,
        ),
        asked.page,
        lambda schema: schema.subject,
    )


def _lifecycles(names: Sequence[str]) -> Sequence[str]:
    if any(name not in {"STRONG", "WEAK", "NONE"} for name in names):
        raise MalformedParameter
    return names


def schema_types(asked: Asked) -> Answer:
    return asked.rules.schema_types()


def schema_by_id(asked: Asked) -> Answer:
    return asked.rules.schema_by_id(
        asked.id,
        subject=asked.query.text("subject"),
        form=asked.text("format"),
        reference_form=asked.text("referenceFormat"),
        find_tags=asked.query.texts("findTags"),
        max_id=asked.flag("fetchMaxId"),
    )


def schema_text_by_id(asked: Asked) -> Answer:
    found = asked.rules.schema_by_id(
        asked.id, subject=asked.query.text("subject"), form=asked.text("format")
    )
    return RawText(found.schema)


def subjects_of_id(asked: Asked) -> Answer:
    schema_id = asked.id
    return asked.allows.listed(
        lambda page: asked.rules.subjects_of_id(
            schema_id,
            subject=asked.query.text("subject"),
            deleted=asked.flag("deleted"),
            page=page,
        ),
        asked.page,
        str,
    )


def versions_of_id(asked: Asked) -> Answer:
    schema_id = asked.id
    return asked.allows.listed(
        lambda page: asked.rules.versions_of_id(
            schema_id,
            subject=asked.query.text("subject"),
            deleted=asked.flag("deleted"),
            page=page,
        ),
        asked.page,
        lambda found: found.subject,
    )


def schema_by_guid(asked: Asked) -> Answer:
    return asked.rules.schema_by_guid(asked.guid, form=asked.text("format"))


def ids_of_guid(asked: Asked) -> Answer:
    return asked.rules.ids_of_guid(asked.guid)


def check_compatibility(asked: Asked) -> Answer:
    return asked.rules.compatibility(
        asked.readable,
        asked.call.path.get("version"),
        asked.schema,
        normalize=asked.flag("normalize"),
        verbose=asked.flag("verbose"),
    )
