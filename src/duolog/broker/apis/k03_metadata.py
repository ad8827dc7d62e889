"""Metadata, API key 3, versions 0-13.

Behaviour: a topic that is asked for by name and does not exist is created when the client and
`auto.create.topics.enable` both allow it, and the answer waits for it. An invalid name is
INVALID_TOPIC_EXCEPTION, an unknown id UNKNOWN_TOPIC_ID. A partition that is refused for damage has
no leader (LEADER_NOT_AVAILABLE), as one whose log directory is offline. More than 10,000 partitions
are not created by one request. A topic's part of the answer is kept as bytes for each version, and
answers are joined from the parts, in time slices where there are many.

v0  an empty list asks for all topics; from v1 null does
v4  the client says whether topics may be created
v10 topic ids; v12 asks by id

Source: Kafka `KafkaApis.handleTopicMetadataRequest`.
"""

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from duolog.broker.authorization.checks import NotAuthorized, authorized_operations
from duolog.broker.authorization.table import checks_of
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import LARGE_BYTES, Api, answer_failure, decode_beside
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.broker.topics.topic_creation import PARTITIONS_AT_ONCE_MAX
from duolog.broker.topics.topic_names import INTERNAL_TOPICS, check_topic_name
from duolog.broker.topics.topics import Topic
from duolog.core.errors import KafkaError
from duolog.core.names import metric_name
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.headers import response_header
from duolog.protocol.metadata import (
    FIRST_THROTTLE,
    VERSIONS,
    BrokerRow,
    MetadataRequest,
    TopicQuestion,
    TopicRow,
    metadata_response_end,
    metadata_response_start,
    read_metadata_request,
    write_topic,
)
from duolog.protocol.operations import OPERATIONS_NOT_ASKED
from duolog.protocol.throttle_time import with_throttle_time
from duolog.security.authorization.operations import ResourceType

if TYPE_CHECKING:
    from duolog.broker.apis.context import Connection
    from duolog.broker.broker import Broker
    from duolog.broker.quotas.charge import Charge
    from duolog.broker.requests.in_flight import Data

_KEY = 3
_TOPIC, _EVERY_TOPIC, _NEW_TOPIC, _CLUSTER = checks_of(_KEY)
_NO_ID = UUID(int=0)
_TOPICS_A_PIECE = 500


class _Form(NamedTuple):
    """The inputs, other than the topic itself, that determine the encoded bytes of a topic."""

    version: int
    operations: int
    """As bits: the bytes are the same for all clients that may do the same."""


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    enforcement = connection.broker.enforcement
    charge = None if enforcement is None else enforcement.charge_frame(connection, frame)
    content = bytes(frame)  # The receive buffer may be another's when this fails.
    if len(frame) <= LARGE_BYTES:
        request = read_metadata_request(frame[position:], version)
        _Metadata(connection, content, version, correlation_id, charge).serve(request)
    else:
        metadata = _Metadata(connection, content, version, correlation_id, charge)
        body = frame[position:]
        decode_beside(
            connection, body, lambda data: read_metadata_request(data, version), metadata.serve
        )
    if charge is not None:
        charge.pause()


class _Metadata:
    """A request on its way to its answer."""

    def __init__(
        self,
        connection: "Connection",
        frame: bytes,
        version: int,
        correlation_id: int,
        charge: "Charge | None",
    ) -> None:
        self._broker = connection.broker
        self._charge = charge
        self._connection = connection
        self._frame = frame
        self._version = version
        self._header = response_header(_KEY, version, correlation_id)
        self._came_at = self._broker.clock.monotonic()
        self._waiting = InFlightRequest()
        self._failed: dict[str, Exception] = {}
        """The errors of topics that could not be created, or not by this client."""
        connection.begin(self._waiting)

    def serve(self, request: MetadataRequest) -> None:
        """Make what is missing, and answer: now or in later rounds."""
        self._run(self._create_missing(request))

    def _run(self, steps: Iterator[None]) -> None:
        guarded = self._guarded(steps)
        if self._charge is not None:
            guarded = self._charge.timed(guarded)
        self._broker.slices.run(guarded, wanted=lambda: not self._connection.closed)

    def _guarded(self, steps: Iterator[None]) -> Iterator[None]:
        """Run `steps`, and answer with the error that they raise: the client waits for one."""
        try:
            yield from steps
        except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
            answer_failure(self._connection, API, self._frame, self._waiting, error)

    def _create_missing(self, request: MetadataRequest) -> Iterator[None]:
        broker = self._broker
        names = yield from self._to_create(request)
        if not names:
            yield from self._answer(request)
            return
        left = len(names)

        def prepare(name: str) -> Change:
            partitions = broker.settings.integer("num.partitions")
            change = broker.creating_topic(name, partitions, {})
            if self._charge is not None:
                self._charge.mutate(partitions, strict=False)
            return change

        def done(name: str, error: Exception | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                self._failed[name] = error
            if not left:
                self._run(self._answer(request))

        for name in names:
            broker.controller.submit(metric_name(name), partial(prepare, name), partial(done, name))
            yield

    def _answer(self, request: MetadataRequest) -> Iterator[None]:
        broker = self._broker
        pieces: list[bytes] = []
        run: list[bytes] = []
        count = 0
        for part in self._parts(request):
            if part:
                count += 1
                run.append(part)
            if len(run) >= _TOPICS_A_PIECE:
                pieces.append(b"".join(run))
                run.clear()
            yield
        row = BrokerRow(broker.node_id, *self._connection.advertised, broker.rack)
        start = metadata_response_start(self._version, row, broker.cluster_id, count)
        operations = OPERATIONS_NOT_ASKED
        if request.cluster_operations:
            client = self._connection
            known = _CLUSTER.allows(client)
            operations = authorized_operations(client, ResourceType.CLUSTER) if known else 0
        end = metadata_response_end(self._version, operations=operations)
        pieces.append(b"".join((*run, end)))
        size_bytes = len(self._header) + len(start) + sum(map(len, pieces))
        head = size_bytes.to_bytes(4) + self._header + start
        answer: Data = [head, *pieces]
        if self._charge is not None:
            throttle_ms = self._charge.answered()
            if throttle_ms and self._version >= FIRST_THROTTLE:
                answer = with_throttle_time(answer, _KEY, self._version, throttle_ms)
        self._connection.complete(self._waiting, answer)
        broker.counters.cold["Metadata"].observe(broker.clock.monotonic() - self._came_at)

    def _parts(self, request: MetadataRequest) -> Iterator[bytes]:
        if request.topics is None:
            for topic in list(self._broker.topics):
                if _EVERY_TOPIC.allows(self._connection, topic.name):
                    yield self._known(topic, request)
                else:
                    yield b""
            return
        asked: set[TopicQuestion] = set()
        for question in request.topics:
            # A topic that is requested twice is returned once, as by Kafka.
            if question not in asked:
                asked.add(question)
                yield self._part(question, request)

    def _to_create(self, request: MetadataRequest) -> Generator[None, None, list[str]]:
        """Return, in steps, the topics to make: asked for by a name, and not there."""
        broker, client = self._broker, self._connection
        if not (request.auto_create and broker.settings.boolean("auto.create.topics.enable")):
            return []
        most = PARTITIONS_AT_ONCE_MAX // broker.settings.integer("num.partitions")
        missing: dict[str, None] = {}
        for name, topic_id in request.topics or ():
            # Internal topics are made by who uses them, with configs that a client does not know.
            if (
                name is not None
                and not (topic_id or name in broker.topics or name in INTERNAL_TOPICS)
                and _TOPIC.allows(client, name)
            ):
                if _NEW_TOPIC.allows(client, name):
                    missing[name] = None
                else:
                    self._failed[name] = _NEW_TOPIC.refusal(client, name)
                if len(missing) > most:
                    return []
            yield
        return list(missing)

    def _part(self, question: TopicQuestion, request: MetadataRequest) -> bytes:
        """Return a topic that is asked for; one that is forbidden looks like a missing one."""
        broker = self._broker
        name, topic_id = question
        if name is None or topic_id:  # An id is stronger than a name.
            topic = broker.topics.by_id.get(topic_id or _NO_ID)
            row = TopicRow(None, topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            if topic is not None and not _TOPIC.allows(self._connection, topic.name):
                # As in Kafka, an id is not secret: it cannot be guessed. The name is.
                row, topic = row._replace(error_code=_TOPIC.code), None
        elif not _TOPIC.allows(self._connection, name):
            row, topic = TopicRow(name, None, error_code=_TOPIC.code), None
        else:
            topic = broker.topics.get(name)
            error = self._failed.get(name)
            code = error.code if isinstance(error, NotAuthorized) else _missing(name, error)
            row = TopicRow(name, None, error_code=code)
        if topic is not None:
            return self._known(topic, request)
        return write_topic(self._version, row, broker.node_id)

    def _known(self, topic: Topic, request: MetadataRequest) -> bytes:
        """Return a topic that is there, from what is kept."""
        operations = OPERATIONS_NOT_ASKED
        if request.topic_operations:
            operations = authorized_operations(self._connection, ResourceType.TOPIC, topic.name)
        return _known(self._broker, topic, _Form(self._version, operations))


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
        offline = {row.index for row in topic.partitions if row.refused is not None}
        row = TopicRow(
            topic.name,
            topic.id,
            epochs,
            internal=topic.internal,
            operations=form.operations,
            offline=offline,
        )
        kept = topic.metadata_bytes[form] = write_topic(form.version, row, broker.node_id)
    return kept


API = Api(key=_KEY, name="Metadata", versions=VERSIONS, handle_frame=handle_frame)
