"""Declare the processing log as a stream, if the properties of the service ask for it.

    ksql.logging.processing.stream.auto.create=true     SELECT … FROM KSQL_PROCESSING_LOG works
    ksql.logging.processing.stream.name                 another name
    ksql.logging.processing.topic.auto.create=true      only the topic
    ksql.logging.processing.topic.partitions            of a topic that is created, by default 1
    ksql.logging.processing.topic.replication.factor    the same

The stream is declared once: its statement is in the command topic, so that all servers of the
service have it. A user may drop it; the next start declares it again. A failure is logged, and does
not stop the start.

Source: ksqlDB's documentation of the processing log; names and columns as its clients show them.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.errors import KafkaError
from duolog.ksql.errors import SqlError
from duolog.ksql.session import parse
from duolog.ksql.settings import Settings

if TYPE_CHECKING:
    from sqlglot import exp

    from duolog.ksql.catalog.catalog import Catalog
    from duolog.runtime.sql.command_log.topics import Topics

logger: Final = logging.getLogger(__name__)

PROCESSING_LOG: Final = "ksql.logging.processing.topic.name"
LOGGED_ROWS: Final = "ksql.logging.processing.rows.include"
STREAM_AUTO_CREATE: Final = "ksql.logging.processing.stream.auto.create"
STREAM_NAME: Final = "ksql.logging.processing.stream.name"
TOPIC_AUTO_CREATE: Final = "ksql.logging.processing.topic.auto.create"
TOPIC_PARTITIONS: Final = "ksql.logging.processing.topic.partitions"
TOPIC_REPLICAS: Final = "ksql.logging.processing.topic.replication.factor"
DEFAULT_STREAM: Final = "KSQL_PROCESSING_LOG"

_COLUMNS: Final = (
    "logger VARCHAR, level VARCHAR, time BIGINT, message STRUCT<type INTEGER, "
    "deserializationError STRUCT<target VARCHAR, errorMessage VARCHAR, recordB64 VARCHAR, "
    "cause ARRAY<VARCHAR>, `topic` VARCHAR>, "
    "recordProcessingError STRUCT<errorMessage VARCHAR, record VARCHAR, cause ARRAY<VARCHAR>>, "
    "productionError STRUCT<errorMessage VARCHAR>, "
    "serializationError STRUCT<target VARCHAR, errorMessage VARCHAR, record VARCHAR, "
    "cause ARRAY<VARCHAR>, `topic` VARCHAR>, "
    "kafkaStreamsThreadError STRUCT<errorMessage VARCHAR, threadName VARCHAR, "
    "cause ARRAY<VARCHAR>>>"
)
"""Without quotes, names are in upper case, as in ksqlDB; JSON fields match in any case."""


class Service(Protocol):
    """The parts of a `SqlService` that are needed."""

    given: dict[str, str]
    processing_log: str
    topics: "Topics"

    @property
    def catalog(self) -> "Catalog": ...
    def follow(self) -> None: ...
    def change(self, node: "exp.Expression", text: str, given: Settings) -> object: ...


def statement_of(name: str, topic: str) -> str:
    """Return the statement that declares the processing log as a stream.

    Example:
        >>> statement_of("LOG", "it's").partition("WITH ")[2]
        "(KAFKA_TOPIC='it''s', VALUE_FORMAT='JSON');"
    """
    quoted = topic.replace("'", "''")
    return (
        f"CREATE STREAM IF NOT EXISTS {name} ({_COLUMNS}) "
        f"WITH (KAFKA_TOPIC='{quoted}', VALUE_FORMAT='JSON');"
    )


def declare(service: Service) -> None:
    """Create topic and stream of the processing log, as far as a service's properties ask for it.

    Raises:
        BrokerUnavailable: no broker answers.
        CommandDamaged: the command topic cannot be read.
    """
    given = service.given
    wants_stream = _truth(given, STREAM_AUTO_CREATE)
    if not wants_stream and not _truth(given, TOPIC_AUTO_CREATE):
        return
    service.follow()
    topic = service.processing_log
    try:
        if topic not in service.topics.partitions():
            counts = Settings({TOPIC_PARTITIONS: "1", TOPIC_REPLICAS: "1", **given})
            service.topics.create(
                topic, counts.number(TOPIC_PARTITIONS), counts.number(TOPIC_REPLICAS), {}
            )
        if wants_stream:
            _declare_stream(given.get(STREAM_NAME, DEFAULT_STREAM), topic, service)
    except (SqlError, KafkaError) as error:
        logger.warning("cannot declare the processing log: %s", error.message)


def _declare_stream(name: str, topic: str, service: Service) -> None:
    text = statement_of(name, topic)
    (node,) = parse(text)
    known = service.catalog.sources.get(node.this.name)
    if known is None:
        service.change(node, text, Settings())
        logger.info("declared the processing log as a stream", extra={"stream": node.this.name})
    elif known.topic != topic:
        logger.warning(
            "the processing log is not declared: its name is taken",
            extra={"stream": known.name, "topic": known.topic},
        )


def _truth(given: Mapping[str, str], name: str) -> bool:
    return str(given.get(name, "")).lower() == "true"
