"""The subjects of topics' schemas, named as Confluent's clients name them.

    TopicNameStrategy         <topic>-key or <topic>-value; the default
    RecordNameStrategy        the full name of the record
    TopicRecordNameStrategy   <topic>-<full name of the record>

The settings `ksql.schema.registry.key.subject.name.strategy` and `….value.subject.name.strategy`
choose one. Reading needs no subject, because records have ids.

Source: Confluent's clients.
"""

from collections.abc import Callable
from typing import Final

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SqlFormat
from duolog.ksql.catalog.format_support import Part
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings
from duolog.schemas.languages import parse
from duolog.schemas.source import SchemaText

FULL_NAME: Final = "fullSchemaName"
"""Option of a format: the full name of the record that a schema describes."""


def subject_of(topic: str, part: Part) -> str:
    """Return the subject of a topic's keys or values by default."""
    return f"{topic}-{part.lower()}"


def chosen_subject(
    given: Settings,
    part: Part,
    of: SqlFormat,
    topic: str,
    schema: Callable[[], SchemaText] | None = None,
) -> str:
    """Return the subject of a topic's keys or values by the strategy of a session.

    Args:
        given: the settings of the session.
        part: key or value.
        of: the format.
        topic: the topic.
        schema: returns the schema to register; None if it is not known yet.

    Raises:
        SqlError: the strategy needs the name of a record, and there is none.
    """
    strategy = settings.strategy_named(given[settings.SUBJECTS[part]])
    if strategy == settings.TOPIC_NAME:
        return subject_of(topic, part)
    name = dict(of.properties).get(FULL_NAME)
    if schema is not None:
        written = schema()
        name = parse(written.language, written.text, {}, strict=False).name or name
    if name is None:
        hint = f"Name the record with {part.upper()}_SCHEMA_FULL_NAME"
        raise SqlError(
            f"The {part.lower()} schema of topic '{topic}' has no name for the subject name "
            f"strategy {strategy}",
            hint=f"{hint}, or set {settings.SUBJECTS[part]} to {settings.TOPIC_NAME}.",
        )
    return name if strategy == settings.RECORD_NAME else f"{topic}-{name}"
