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

from typing import TYPE_CHECKING, NamedTuple
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
from duolog.protocol.operations import (
    CLUSTER_OPERATIONS,
    OPERATIONS_NOT_ASKED,
    TOPIC_OPERATIONS,
)

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.connection import Connection

_KEY = 3
_NO_ID = UUID(int=0)


class _Form(NamedTuple):
    """What the bytes of a topic depend on, besides the topic."""

    version: int
    operations: bool


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    broker = connection.broker
    request = read_metadata_request(frame[position:], version)
    form = _Form(version, request.topic_operations)
    if request.topics is None:
        rows = [_known(broker, topic, form) for topic in broker.topics]
    else:
        auto_create = request.auto_create and broker.settings.boolean("auto.create.topics.enable")
        # Who asks twice gets one answer, as from Kafka.
        rows = [
            _answer(broker, question, form, auto_create=auto_create)
            for question in dict.fromkeys(request.topics)
        ]
    body = write_metadata_response(
        version,
        BrokerRow(broker.node_id, *broker.advertised),
        broker.cluster_id,
        rows,
        operations=CLUSTER_OPERATIONS if request.cluster_operations else OPERATIONS_NOT_ASKED,
    )
    header = response_header(_KEY, version, correlation_id)
    connection.answer(Slot(), write_frame(header, body))


def _answer(broker: "Broker", question: TopicQuestion, form: _Form, *, auto_create: bool) -> bytes:
    name, topic_id = question
    if name is None or topic_id:  # An id is stronger than a name.
        topic = broker.topics.by_id.get(topic_id or _NO_ID)
        if topic is not None:
            return _known(broker, topic, form)
        row = TopicRow(None, topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        return write_topic(form.version, row, broker.node_id)
    topic = broker.topics.get(name)
    if topic is not None:
        return _known(broker, topic, form)
    try:
        return _known(broker, _create(broker, name, auto_create=auto_create), form)
    except (DuologError, OSError) as error:
        code, _ = kafka_code(error)
        row = TopicRow(name, None, error_code=code)
        return write_topic(form.version, row, broker.node_id)


def _create(broker: "Broker", name: str, *, auto_create: bool) -> Topic:
    check_topic_name(name)
    if not auto_create or name in INTERNAL_TOPICS:
        # Internal topics are made by who uses them, with configs that a client does not know.
        return broker.topics.find(name)
    return broker.create_topic(name, broker.settings.integer("num.partitions"), {})


def _known(broker: "Broker", topic: Topic, form: _Form) -> bytes:
    kept = topic.metadata_bytes.get(form)
    if kept is None:
        epochs = [partition.log.leader_epoch for partition in topic.partitions]
        operations = TOPIC_OPERATIONS if form.operations else OPERATIONS_NOT_ASKED
        row = TopicRow(topic.name, topic.id, epochs, internal=topic.internal, operations=operations)
        kept = topic.metadata_bytes[form] = write_topic(form.version, row, broker.node_id)
    return kept


API = Api(key=_KEY, name="Metadata", versions=VERSIONS, handle_frame=handle_frame)
