"""Metadata, API key 3, versions 0-13.

Behaviour: a topic that is asked for by name and does not exist is created when the client and
`auto.create.topics.enable` both allow it, and answered as existing at once. An invalid name is
INVALID_TOPIC_EXCEPTION, an unknown id UNKNOWN_TOPIC_ID. A topic's part of the answer is kept
as bytes for each version, and answers are joined from the parts.

v0  an empty list asks for all topics; from v1 null does
v4  the client says whether topics may be created
v10 topic ids; v12 asks by id

Source: Kafka `KafkaApis.handleTopicMetadataRequest`.
"""

from typing import TYPE_CHECKING
from uuid import UUID

from duolog.broker.api import Api
from duolog.broker.errors import kafka_code
from duolog.broker.slots import Slot
from duolog.broker.topic_names import INTERNAL_TOPICS, check_topic_name
from duolog.broker.topics import Topic
from duolog.core.errors import DuologError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.frames import write_frame
from duolog.protocol.headers import response_header
from duolog.protocol.metadata import (
    VERSIONS,
    BrokerRow,
    TopicQuestion,
    TopicRow,
    read_metadata_request,
    write_metadata_response,
    write_topic,
)

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.connection import Connection

_KEY = 3
_NO_ID = UUID(int=0)


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    broker = connection.broker
    request = read_metadata_request(frame[position:], version)
    if request.topics is None:
        rows = [_known(broker, topic, version) for topic in broker.topics]
    else:
        auto_create = request.auto_create and broker.settings.boolean("auto.create.topics.enable")
        rows = [
            _answer(broker, question, version, auto_create=auto_create)
            for question in request.topics
        ]
    body = write_metadata_response(
        version, BrokerRow(broker.node_id, *broker.advertised), broker.cluster_id, rows
    )
    header = response_header(_KEY, version, correlation_id)
    connection.answer(Slot(), write_frame(header, body))


def _answer(broker: "Broker", question: TopicQuestion, version: int, *, auto_create: bool) -> bytes:
    if question.name is None:
        topic_id = question.topic_id or _NO_ID
        topic = broker.topics.by_id.get(topic_id)
        if topic is not None:
            return _known(broker, topic, version)
        row = TopicRow(None, topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        return write_topic(version, row, broker.node_id)
    topic = broker.topics.get(question.name)
    if topic is not None:
        return _known(broker, topic, version)
    try:
        return _known(broker, _create(broker, question.name, auto_create=auto_create), version)
    except (DuologError, OSError) as error:
        code, _ = kafka_code(error)
        row = TopicRow(question.name, None, error_code=code)
        return write_topic(version, row, broker.node_id)


def _create(broker: "Broker", name: str, *, auto_create: bool) -> Topic:
    check_topic_name(name)
    if not auto_create or name in INTERNAL_TOPICS:
        # Internal topics are made by who uses them, with configs that a client does not know.
        return broker.topics.find(name)
    return broker.create_topic(name, broker.settings.integer("num.partitions"), {})


def _known(broker: "Broker", topic: Topic, version: int) -> bytes:
    kept = topic.metadata_bytes.get(version)
    if kept is None:
        epochs = [partition.log.leader_epoch for partition in topic.partitions]
        row = TopicRow(topic.name, topic.id, epochs, internal=topic.internal)
        kept = topic.metadata_bytes[version] = write_topic(version, row, broker.node_id)
    return kept


API = Api(key=_KEY, name="Metadata", versions=VERSIONS, handle_frame=handle_frame)
