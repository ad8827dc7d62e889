"""Determine the topics that a stream or table reads, from its WITH properties.

KAFKA_TOPIC = 'orders'               one topic
KAFKA_TOPIC = 'orders-eu,orders-us'  several topics of a stream, merged (names have no commas)
TOPIC_PATTERN = 'orders-.*'          all topics whose full name matches when a query starts
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sqlglot import exp

from duolog.core.names import wrong_topic_name
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.properties import TOPIC_PATTERN, Properties
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import uses_variables

_SEPARATOR = ","


class SourceTopics(NamedTuple):
    """Names of topics, or a pattern for them."""

    names: tuple[str, ...]
    is_pattern: bool = False


def topics_of(properties: Properties, node: nodes.CreateSource, settings: Settings) -> SourceTopics:
    """Return the topics of a CREATE without a query; by default, the topic with the source's name.

    Raises:
        SqlError: topics are given in two ways, a table has several, or the pattern is invalid.
    """
    given, pattern = properties.topic(), properties.text(TOPIC_PATTERN)
    if pattern is None:
        names: tuple[str, ...] = (given or node.this.name,)
        if given is not None and not settings.strict:
            names = tuple(dict.fromkeys(name.strip() for name in given.split(_SEPARATOR)))
        if "" in names:
            raise SqlError(f"KAFKA_TOPIC contains an empty name: '{given}'", at=place_of(node))
        ensure_legal(names, node)
        found = SourceTopics(names)
    else:
        found = SourceTopics((_checked(pattern, given, node),), is_pattern=True)
    if node.args["kind"] == "TABLE" and (found.is_pattern or len(found.names) > 1):
        raise SqlError(
            f"Table {node.this.name} must read a single topic.",
            at=place_of(node),
            hint="Declare a stream over the topics, and aggregate it into a table.",
        )
    return found


def ensure_legal(names: Iterable[str], node: exp.Expression) -> None:
    """Refuse names that Kafka does not allow.

    Names with undefined variables (`${env}-orders`) pass.

    Raises:
        SqlError: a name is not a legal topic name.
    """
    for name in names:
        if not uses_variables(name) and (wrong := wrong_topic_name(name)):
            raise SqlError(
                f"KAFKA_TOPIC is not legal: {wrong}",
                at=place_of(node),
                hint="Set KAFKA_TOPIC to a name of letters, digits, '.', '_' and '-'.",
            )


def _checked(pattern: str, given: str | None, node: nodes.CreateSource) -> str:
    if given is not None:
        raise SqlError(
            f"Cannot supply both 'KAFKA_TOPIC' and '{TOPIC_PATTERN}' properties.", at=place_of(node)
        )
    try:
        re.compile(pattern)
    except re.error as error:
        raise SqlError(
            f"{TOPIC_PATTERN} is not a valid regular expression: '{pattern}'",
            detail=f"{error}.",
            at=place_of(node),
        ) from error
    return pattern


def ensure_one_topic(source: SourceInfo, what: str, node: exp.Expression) -> None:
    """Refuse an operation on a single topic if the stream reads several."""
    if not source.is_of_one_topic:
        raise SqlError(
            f"Cannot {what} {source.name}: it reads several topics, {source.topic_names}.",
            at=place_of(node),
            hint="Declare a stream over one of these topics.",
        )
