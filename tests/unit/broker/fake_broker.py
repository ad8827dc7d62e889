"""A simulated broker for the group APIs: a log in memory, a delayed disk, a clock that a test advances."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import re2
from kio._kio_native import entity_reader

from duolog.broker.event_loop.time_slices import TimeSlices
from duolog.broker.expressions.expressions import HelperFailed, InvalidExpression
from duolog.broker.expressions.worker import compile_expression
from duolog.broker.groups.coordinator_service import GroupCoordinatorService
from duolog.broker.groups.offsets_topic import OFFSETS_TOPIC
from duolog.broker.router import find_apis
from duolog.broker.settings import BrokerSettings
from duolog.log.partition.validation import BatchTooLarge
from duolog.protocol.encoder import encoder
from duolog.protocol.headers import RequestHeader
from duolog.protocol.messages import Messages, entity_type
from duolog.record.batch import BatchHeader, patch_batch, read_header
from duolog.record.control import encode_marker
from duolog.security.identity.principal import ANONYMOUS, Identity
from duolog.testing.clock import FakeClock

COMMIT, FETCH, FIND, JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE, LIST = range(8, 17)
TXN_COMMIT, DELETE, DELETE_OFFSETS = 28, 42, 47
CONSUMER_HEARTBEAT, CONSUMER_DESCRIBE = 68, 69
APIS = {
    api.key: api
    for api in find_apis()
    if api.key in {*range(COMMIT, LIST + 1), TXN_COMMIT, DELETE, DELETE_OFFSETS}
    or api.key in {CONSUMER_HEARTBEAT, CONSUMER_DESCRIBE}
}


class FakeExpressions:
    """Matches immediately, or when a test requests it."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] | None = None
        self.asked: list[tuple[str, list[str]]] = []
        self.failures = 0
        """The number of next calls that fail."""

    def match(self, pattern: str, texts: Iterable[str], done: Any) -> None:
        names = list(texts)
        self.asked.append((pattern, names))

        def answer() -> None:
            if self.failures:
                self.failures -= 1
                done(None, HelperFailed("killed"))
                return
            try:
                expression = compile_expression(pattern)
            except re2.error as error:
                done(None, InvalidExpression(error.args[0].decode()))
            else:
                done(frozenset(filter(expression.fullmatch, names)), None)

        if self.held is None:
            answer()
        else:
            self.held.append(answer)

    def answer(self) -> None:
        """Answer what was held back."""
        held, self.held = self.held or [], []
        for answer in held:
            answer()


class FakeBroker:
    """The part of a broker that `Groups` needs. `durable` set to False delays the sync of appended batches."""

    def __init__(
        self,
        logs: dict[int, list[bytearray]] | None = None,
        settings: Mapping[str, str] | None = None,
        *,
        names: Iterable[str] = ("t",),
        lives: Mapping[str, int] | None = None,
        slow_reads_s: float = 0.0,
    ) -> None:
        self.authorizer: Any = None
        self.enforcement: Any = None
        self.settings = BrokerSettings(settings)
        self.clock = FakeClock()
        self.timers = self
        self.slices = TimeSlices(self, self)  # type: ignore[arg-type]
        self.topics = self
        self.transactions = self
        self.rounds = SimpleNamespace(failure=None)
        self.names = set(names)
        self.lives: Counter[str] = Counter(lives or {})
        self.partitions: dict[str, int] = {}
        self.version = 0
        self.group_configs: dict[str, int] = {}
        self.configs = SimpleNamespace(
            groups=SimpleNamespace(
                configs=lambda _: self.group_configs,
                integer=lambda _, name: self.group_configs[name],
            )
        )
        self.slow_reads_s = slow_reads_s
        self.node_id = 5
        self.advertised = ("127.0.0.1", 9092)
        self.logs: dict[int, list[bytearray]] = logs or {}
        self.verified: list[tuple[Any, ...]] = []
        self.verify_error: Exception | None = None
        self.waiting: list[Callable[[Exception | None], None]] = []
        self.durable = True
        self.batch_bytes_max = 2**20
        self.batch_sizes: list[int] = []
        self.create_error: Exception | None = None
        self.planned: list[Any] = []
        if self.logs:
            self.names.add(OFFSETS_TOPIC)
        self.messages = Messages()
        self.expressions = FakeExpressions()
        self.groups = GroupCoordinatorService(self)  # type: ignore[arg-type]
        self.groups.start()

    # Topics

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def get(self, name: str) -> Any:
        return self.find(name) if name in self.names else None

    known = get

    def find(self, name: str) -> Any:
        offsets = name == OFFSETS_TOPIC
        count = self.partitions.get(name, 1)
        if offsets:
            count = self.settings.integer("offsets.topic.num.partitions")
        return SimpleNamespace(
            id=uuid5(NAMESPACE_OID, f"{name} {self.lives[name]}"),
            name=name,
            partitions=range(count),
            partition=lambda index: index if 0 <= index < count else None,
        )

    def __iter__(self) -> Iterator[Any]:
        return (self.find(name) for name in self.names)

    @property
    def by_id(self) -> dict[UUID, Any]:
        return {topic.id: topic for topic in self}

    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        assert configs["cleanup.policy"] == "compact"
        if self.create_error is not None:
            raise self.create_error
        self.names.add(name)
        self.logs |= {partition: [] for partition in range(partitions)}

    def delete_topic(self, name: str, *, reported: bool = True) -> None:
        self.names.discard(name)
        self.version += 1
        if reported:
            self.groups.topic_deleted(name)

    def make_anew(self, name: str) -> None:
        """Create a topic that is not the one which had the name before."""
        self.names.add(name)
        self.lives[name] += 1
        self.version += 1

    # The log

    def append_internal(
        self, topic: str, partition: int, batch: bytearray, on_durable: Callable[[Any], None]
    ) -> None:
        assert topic == OFFSETS_TOPIC
        self.batch_sizes.append(len(batch))
        if len(batch) > self.batch_bytes_max:
            raise BatchTooLarge("record batch is too large")
        self._put(partition, batch)
        self.waiting.append(on_durable)
        if self.durable:
            self.sync_disk()

    def _put(self, partition: int, batch: bytearray) -> None:
        log = self.logs[partition]
        offset = read_header(log[-1]).next_offset if log else 0
        patch_batch(batch, offset, 0)
        log.append(batch)

    def replay_batches(
        self, topic: str, partition: int
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        assert topic == OFFSETS_TOPIC
        for batch in list(self.logs[partition]):
            self.clock.advance(self.slow_reads_s)
            yield read_header(batch), memoryview(batch)

    def sync_disk(self, error: Exception | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for on_durable in waiting:
            on_durable(error)

    # TransactionCoordinatorService

    def verify_offsets(self, *asked: Any, implicit: bool, abortable: bool) -> None:
        self.verified.append((*asked, implicit, abortable))
        if self.verify_error is not None:
            raise self.verify_error

    def end_transaction(self, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
        """Write the producer's marker to every partition; report when it is durable."""
        for partition in self.logs:
            marker = encode_marker(
                producer_id, epoch, commit=commit, coordinator_epoch=0, timestamp_ms=0
            )
            self._put(partition, marker)
            self.groups.complete_transaction(partition, producer_id, epoch, commit, lambda: None)

    # Timers

    def monotonic(self) -> float:
        return float(self.clock.monotonic())

    def call_at(self, at: float, callback: Callable[[], None]) -> Any:
        timer = SimpleNamespace(at=at, callback=callback)
        timer.cancel = lambda: self.planned.remove(timer) if timer in self.planned else None
        self.planned.append(timer)
        return timer

    def call_later(self, delay: float, callback: Callable[[], None]) -> Any:
        return self.call_at(self.clock.monotonic() + delay, callback)

    def pass_time(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while due := [timer for timer in self.planned if timer.at <= end]:
            timer = min(due, key=lambda timer: timer.at)
            self.planned.remove(timer)
            self.clock.advance(max(0.0, timer.at - self.clock.monotonic()))
            timer.callback()
        self.clock.advance(max(0.0, end - self.clock.monotonic()))

    # Requests

    def refuse(self, _: object, error: Exception) -> None:
        raise error

    def send(self, key: int, version: int, /, **fields: Any) -> list[Any]:
        """Send a request; the list holds the answer once there is one."""
        header = RequestHeader(key, version, 1, "client", 0)
        request_type: Any = entity_type(key, version, "request")
        body = encoder(request_type)(fields)
        answers: list[Any] = []

        def reply(values: Any) -> None:
            frame = self.messages.encode_response(header, values)
            flexible = entity_type(key, version, "response").__flexible__
            reply_pieces([frame[9 if flexible else 8 :]])

        def reply_pieces(pieces: list[bytes]) -> None:
            body = b"".join(pieces)
            entity, size = entity_reader(entity_type(key, version, "response"))(body, 0)
            assert size == len(body)
            answers.append(entity)
            context.replied = True

        context: Any = SimpleNamespace(
            broker=self,
            authorizer=self.authorizer,
            identity=Identity(ANONYMOUS, "127.0.0.1"),
            version=version,
            client_id="client",
            client_host="/127.0.0.1",
            advertised=self.advertised,
            replied=False,
            wanted=lambda: True,
            timed=lambda steps: steps,
            reply=reply,
            reply_pieces=reply_pieces,
            encode_item=lambda path, item: self.messages.encode_item(header, path, item),
        )
        request = self.messages.decode_request(header, memoryview(body))
        handle = APIS[key].handle
        assert handle is not None
        handle(request, context)
        return answers

    def ask(self, key: int, version: int, /, **fields: Any) -> Any:
        (answer,) = self.send(key, version, **fields)
        return answer
