"""The subjects of topics' schemas, by the strategies of `duolog.schemas.subject_names`.

The settings `ksql.schema.registry.key.subject.name.strategy` and `….value.subject.name.strategy`
choose a strategy; TopicNameStrategy is the default. Reading needs no subject, because records have
ids.
"""

from collections.abc import Callable
from typing import Final

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SqlFormat
from duolog.ksql.catalog.format_support import Part
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings
from duolog.schemas import subject_names
from duolog.schemas.languages import parse
from duolog.schemas.source import SchemaText
from duolog.schemas.subject_names import SubjectStrategy, strategy_of

FULL_NAME: Final = "fullSchemaName"
"""Option of a format: the full name of the record that a schema describes."""


def subject_of(topic: str, part: Part) -> str:
    """Return the subject of a topic's keys or values by default."""
    strategy = SubjectStrategy.TOPIC_NAME
    subject = subject_names.subject_of(strategy, topic, None, is_key=part == "Key")
    assert subject is not None, "only the name of a record can be missing"
    return subject


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
    strategy = strategy_of(given[settings.SUBJECTS[part]] or "") or SubjectStrategy.TOPIC_NAME
    name = dict(of.properties).get(FULL_NAME)
    if schema is not None and strategy.names_records:
        written = schema()
        name = parse(written.language, written.text, {}, strict=False).name or name
    subject = subject_names.subject_of(strategy, topic, name, is_key=part == "Key")
    if subject is None:
        hint = f"Name the record with {part.upper()}_SCHEMA_FULL_NAME"
        raise SqlError(
            f"The {part.lower()} schema of topic '{topic}' has no name for the subject name "
            f"strategy {strategy.value}",
            hint=f"{hint}, or set {settings.SUBJECTS[part]} to TopicNameStrategy.",
        )
    return subject
