"""Metadata, API key 3, versions 0-13.

Behaviour: a topic that is asked for by name and does not exist is created when the client and
`auto.create.topics.enable` both allow it, and the answer waits for it. An invalid name is
INVALID_TOPIC_EXCEPTION, an unknown id UNKNOWN_TOPIC_ID. A partition that is refused for damage has no
leader (LEADER_NOT_AVAILABLE), as one whose log directory is offline. More than 10,000 partitions are not created
by one request. A topic's part of the answer is kept
as bytes for each version, and answers are joined from the parts, in time slices where there are many.

v0  an empty list asks for all topics; from v1 null does
v4  the client says whether topics may be created
v10 topic ids; v12 asks by id

Source: Kafka `KafkaApis.handleTopicMetadataRequest`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.event_loop.time_slices import run_in_slices
from duolog.broker.requests.api import Api, answer_failure
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.broker.topics.topic_creation import PARTITIONS_AT_ONCE_MAX
from duolog.broker.topics.topic_names import INTERNAL_TOPICS, check_topic_name, metric_name
from duolog.broker.topics.topics import Topic
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.frames import write_frame
from duolog.protocol.headers import response_header
from duolog.protocol.metadata import (
    VERSIONS,
    BrokerRow,
    MetadataRequest,
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
    from duolog.broker.network.connection import Connection

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
    came_at = broker.clock.monotonic()
    content = bytes(frame)  # The receive buffer may be another's when this fails.
    waiting = InFlightRequest()
    connection.begin(waiting)
    header = response_header(_KEY, version, correlation_id)
    failed: dict[str, Exception] = {}

    def answer() -> None:
        run_in_slices(broker.clock, broker.timers, _guarded(connection, content, waiting, steps()))

    def steps() -> Iterator[None]:
        rows = []
        for row in _rows(broker, request, version, failed):
            rows.append(row)
            yield
        body = write_metadata_response(
            version,
            BrokerRow(broker.node_id, *connection.advertised, broker.rack),
            broker.cluster_id,
            rows,
            operations=CLUSTER_OPERATIONS if request.cluster_operations else OPERATIONS_NOT_ASKED,
        )
        connection.complete(waiting, write_frame(header, body))
        broker.counters.cold["Metadata"].observe(broker.clock.monotonic() - came_at)

    missing = _to_create(broker, request)
    if missing:
        _create_each(broker, missing, failed, answer)
    else:
        answer()


def _guarded(
    connection: "Connection", frame: bytes, waiting: InFlightRequest, steps: Iterator[None]
) -> Iterator[None]:
    """Run `steps`; what they raise becomes the answer, for which the client would wait for ever."""
    try:
        yield from steps
    except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
        answer_failure(connection, API, frame, waiting, error)


def _rows(
    broker: "Broker", request: MetadataRequest, version: int, failed: Mapping[str, Exception]
) -> Iterator[bytes]:
    form = _Form(version, request.topic_operations)
    if request.topics is None:
        for topic in list(broker.topics):
            yield _known(broker, topic, form)
        return
    # Who asks twice gets one answer, as from Kafka.
    for question in dict.fromkeys(request.topics):
        yield _answer(broker, question, form, failed)


def _to_create(broker: "Broker", request: MetadataRequest) -> list[str]:
    """Return the topics to make: asked for by a name, and not there."""
    if not (request.auto_create and broker.settings.boolean("auto.create.topics.enable")):
        return []
    names = (name for name, topic_id in request.topics or () if name is not None and not topic_id)
    # Internal topics are made by who uses them, with configs that a client does not know.
    missing = [
        name
        for name in dict.fromkeys(names)
        if name not in broker.topics and name not in INTERNAL_TOPICS
    ]
    too_many = len(missing) * broker.settings.integer("num.partitions") > PARTITIONS_AT_ONCE_MAX
    return [] if too_many else missing


def _create_each(
    broker: "Broker", names: list[str], failed: dict[str, Exception], finish: Callable[[], None]
) -> None:
    """Let the controller make topics; `failed` gets what spoke against those that are not made."""
    left = len(names)

    def prepare(name: str) -> Change:
        return broker.creating_topic(name, broker.settings.integer("num.partitions"), {})

    def done(name: str, error: Exception | None) -> None:
        nonlocal left
        left -= 1
        if error is not None:
            failed[name] = error
        if not left:
            finish()

    for name in names:
        broker.controller.submit(metric_name(name), partial(prepare, name), partial(done, name))


def _answer(
    broker: "Broker", question: TopicQuestion, form: _Form, failed: Mapping[str, Exception]
) -> bytes:
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
    row = TopicRow(name, None, error_code=_missing(name, failed.get(name)))
    return write_topic(form.version, row, broker.node_id)


def _missing(name: str, error: Exception | None) -> int:
    """Return why there is no topic of this name."""
    try:
        check_topic_name(name)
    except KafkaError as invalid:
        return invalid.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error is None else kafka_code(error)[0]


def _known(broker: "Broker", topic: Topic, form: _Form) -> bytes:
    kept = topic.metadata_bytes.get(form)
    if kept is None:
        epochs = [broker.leader_epoch] * len(topic.partitions)
        operations = TOPIC_OPERATIONS if form.operations else OPERATIONS_NOT_ASKED
        offline = {row.index for row in topic.partitions if row.refused is not None}
        row = TopicRow(
            topic.name,
            topic.id,
            epochs,
            internal=topic.internal,
            operations=operations,
            offline=offline,
        )
        kept = topic.metadata_bytes[form] = write_topic(form.version, row, broker.node_id)
    return kept


API = Api(key=_KEY, name="Metadata", versions=VERSIONS, handle_frame=handle_frame)
