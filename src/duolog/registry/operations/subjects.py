"""Subjects and their versions."""

from duolog.registry.operations.asked import AnyDecision, Asked
from duolog.registry.operations.raw_text import RawText
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.requests import TagRequest


def list_subjects(asked: Asked) -> Answer:
    prefix = asked.query.text("subjectPrefix")
    return asked.seen.subjects(
        ":*:" if prefix is None else prefix,
        deleted=asked.flag("deleted"),
        deleted_only=asked.flag("deletedOnly"),
        page=asked.page,
    )


def look_up_schema(asked: Asked) -> Answer:
    return asked.seen.look_up(
        asked.readable,
        asked.schema,
        normalize=asked.flag("normalize"),
        form=asked.text("format"),
        deleted=asked.flag("deleted"),
    )


def latest_with_metadata(asked: Asked) -> Answer:
    keys, values = asked.query.texts("key"), asked.query.texts("value")
    return asked.seen.latest_with_metadata(
        asked.readable,
        dict(zip(keys, values, strict=False)),
        form=asked.text("format"),
        deleted=asked.flag("deleted"),
    )


def list_versions(asked: Asked) -> Answer:
    return asked.seen.versions(
        asked.readable,
        deleted=asked.flag("deleted"),
        deleted_only=asked.flag("deletedOnly"),
        deleted_as_negative=asked.flag("deletedAsNegative"),
        page=asked.page,
    )


def version(asked: Asked) -> Answer:
    return asked.seen.version(
        asked.readable,
        asked.version,
        form=asked.text("format"),
        reference_form=asked.text("referenceFormat"),
        deleted=asked.flag("deleted"),
        find_tags=asked.query.texts("findTags"),
    )


def version_schema(asked: Asked) -> Answer:
    found = asked.seen.version(
        asked.readable,
        asked.version,
        form=asked.text("format"),
        deleted=asked.flag("deleted"),
    )
    return RawText(found.schema)


def referenced_by(asked: Asked) -> Answer:
    return asked.seen.referenced_by(
        asked.readable, asked.version, deleted=asked.flag("deleted"), page=asked.page
    )


def register(asked: Asked) -> AnyDecision:
    with asked.allows.concealing():
        return asked.rules.register(
            asked.writable,
            asked.schema,
            normalize=asked.flag("normalize"),
            form=asked.text("format"),
            force=asked.flag("force"),
        )


def registered(asked: Asked) -> Answer:
    """Return the answer to a registration that changes nothing, or None."""
    return asked.rules.registered(
        asked.writable,
        asked.schema,
        normalize=asked.flag("normalize"),
        form=asked.text("format"),
    )


def modify_tags(asked: Asked) -> AnyDecision:
    request = TagRequest.from_json(asked.call.body)
    with asked.allows.concealing():
        return asked.rules.change_tags(asked.writable, asked.version, request)


def delete_version(asked: Asked) -> AnyDecision:
    return asked.rules.delete_version(
        asked.writable, asked.version, permanent=asked.flag("permanent")
    )


def delete_subject(asked: Asked) -> AnyDecision:
    return asked.rules.delete_subject(asked.writable, permanent=asked.flag("permanent"))
