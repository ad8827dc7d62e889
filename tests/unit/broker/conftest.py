"""A broker without a port: its connections are socket pairs, its loop is turned by the test."""

import gc
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pytest
from kio.serial import entity_reader

from duolog.broker.broker import Broker
from duolog.broker.network import needs
from duolog.broker.network.connection import Connection
from duolog.broker.schema_checks.registered import OpenRegistry
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import Clock, SystemClock
from duolog.core.listening import Address
from duolog.log.files.disk import RealDisk
from duolog.log.log_manager import LogManager
from duolog.protocol.encoder import encoder
from duolog.protocol.headers import is_flexible
from duolog.protocol.messages import entity_type
from duolog.protocol.wire import write_string
from duolog.record import Record, encode_batch

PRODUCE: Final = 0
FETCH: Final = 1
_ANSWER_S: Final = 60.0
"""Thousands of files are made for some answers, on machines that do more than this."""


class Client:
    """The other end of a connection; speaks by the schemas."""

    def __init__(
        self, harness: "Harness", near: socket.socket, connection: Connection[needs.Broker]
    ) -> None:
        self._harness = harness
        self.socket = near
        self.connection = connection
        self._received = bytearray()
        self._asked: list[tuple[int, int]] = []

    def send(self, key: int, version: int, /, **fields: Any) -> None:
        frame = self.frame(key, version, **fields)
        self._asked.append((key, version))
        self.send_bytes(frame)

    def send_bytes(self, data: bytes) -> None:
        """Send, and turn the loop whenever the broker must read first."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self.socket.send(rest) :]
            except BlockingIOError:
                self._harness.turn()

    def frame(self, key: int, version: int, /, **fields: Any) -> bytes:
        """Return a request as a frame; its correlation id is its number."""
        header = key.to_bytes(2) + version.to_bytes(2) + len(self._asked).to_bytes(4)
        header += write_string("test", flexible=False)
        if is_flexible(key, version):
            header += b"\0"
        body = encoder(entity_type(key, version, "request"))(fields)
        return (len(header) + len(body)).to_bytes(4) + header + body

    def expect(self, key: int, version: int) -> None:
        """Register an expected answer, for bytes that the test sent itself."""
        self._asked.append((key, version))

    def receive(self) -> Any:
        """Turn the loop until a whole answer is there, and return it decoded."""
        until = monotonic() + _ANSWER_S
        while (answer := self._take()) is None:
            assert monotonic() < until, "no answer came"
            self._harness.turn()
        return answer

    def receive_nothing(self) -> None:
        """Turn the loop for a while and see that no answer comes."""
        for _ in range(3):
            self._harness.turn()
        assert self._take() is None

    def ask(self, key: int, version: int, /, **fields: Any) -> Any:
        self.send(key, version, **fields)
        return self.receive()

    def whole_answer(self) -> bool:
        """Read what has come; return whether it is an answer."""
        return self.drain() >= 4 and len(self._received) >= 4 + int.from_bytes(self._received[:4])

    def drain(self) -> int:
        """Read what has come; return how many bytes are here."""
        try:
            while data := self.socket.recv(1 << 20):
                self._received += data
        except BlockingIOError:
            pass
        return len(self._received)

    @property
    def closed_by_broker(self) -> bool:
        for _ in range(3):
            self._harness.turn()
        return self.connection.closed

    def _take(self) -> Any:
        self.drain()
        data = self._received
        if len(data) < 4:
            return None
        end = 4 + int.from_bytes(data[:4])
        if len(data) < end:
            return None
        frame, self._received = bytes(data[4:end]), data[end:]
        key, version = self._asked.pop(0)
        position = 5 if is_flexible(key, version) and key != 18 else 4
        entity, size = entity_reader(entity_type(key, version, "response"))(frame[position:], 0)
        assert size == len(frame) - position
        return entity

    # What nearly every test does

    def produce(
        self, topic: str, batch: bytes, *, partition: int = 0, acks: int = -1, version: int = 9
    ) -> Any:
        """Produce one batch; return what its partition answers."""
        answer = self.ask(PRODUCE, version, **produce_fields(topic, batch, partition, acks))
        return answer.responses[0].partition_responses[0]

    def fetch(
        self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 0, **more: Any
    ) -> Any:
        """Fetch from one partition; return what it answers."""
        answer = self.ask(
            FETCH, 11, **fetch_fields(topic, offset, partition, max_wait_ms=max_wait_ms, **more)
        )
        return answer.responses[0].partitions[0]


def produce_fields(topic: str, batch: bytes, partition: int = 0, acks: int = -1) -> dict[str, Any]:
    return {
        "acks": acks,
        "timeout": 1000,
        "topic_data": [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}],
    }


def fetch_fields(
    topic: str,
    offset: int,
    partition: int = 0,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 26,
    partition_max_bytes: int = 1 << 20,
    epoch: int = -1,
    session_id: int = 0,
    committed: bool = False,
) -> dict[str, Any]:
    return {
        "max_wait": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "isolation_level": int(committed),
        "session_id": session_id,
        "session_epoch": -1,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": partition,
                        "current_leader_epoch": epoch,
                        "fetch_offset": offset,
                        "partition_max_bytes": partition_max_bytes,
                    }
                ],
            }
        ],
    }


class Harness:
    """A broker and what a test does with it."""

    def __init__(
        self,
        data_dir: Path,
        settings: dict[str, str],
        clock: Clock | None = None,
        open_registry: OpenRegistry | None = None,
    ) -> None:
        values = BrokerSettings(settings)
        clock = clock or SystemClock()
        manager = LogManager(RealDisk(), str(data_dir), clock, values.values)
        self.broker = Broker(
            log_manager=manager, clock=clock, settings=values, open_registry=open_registry
        )
        self.broker.advertised = ("127.0.0.1", 9092)
        self._sockets: list[socket.socket] = []

    def turn(self) -> None:
        self.broker.loop.run_once(0.02)

    def turn_until(self, holds: Callable[[], object]) -> None:
        """Turn the loop until this holds, however much one turn does on this machine."""
        until = monotonic() + _ANSWER_S
        while not holds():
            assert monotonic() < until, "it does not happen"
            self.turn()

    def client(
        self,
        advertised: Address | None = None,
        connection_type: Callable[..., Connection[needs.Broker]] = Connection,
    ) -> Client:
        near, far = socket.socketpair()
        near.settimeout(0)
        far.settimeout(0)
        self._sockets.append(near)
        address = f"127.0.0.1:{len(self._sockets)}"
        connection = connection_type(self.broker, far, address, advertised, "")
        self.broker.connections.add(connection)
        self.broker.clients.follow(connection)
        return Client(self, near, connection)

    def topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        texts = {config.replace("_", "."): value for config, value in configs.items()}
        self.broker.create_topic(name, partitions, texts)

    def batch(self, *values: bytes | None, key: bytes | None = b"k", **more: Any) -> bytes:
        """Return a batch of records of now."""
        return self.batch_at(self.broker.clock.now_ms(), *values, key=key, **more)

    def batch_at(
        self, time_ms: int, *values: bytes | None, key: bytes | None = b"k", **more: Any
    ) -> bytes:
        return bytes(encode_batch([Record(0, time_ms, key, value) for value in values], **more))

    def stop(self) -> None:
        self.broker.stop()
        for near in self._sockets:
            near.close()


OpenHarness = Callable[..., Harness]


@pytest.fixture
def open_harness(tmp_path: Path) -> Iterator[OpenHarness]:
    """Make a broker over the test's directory, with settings; several after each other."""
    harnesses: list[Harness] = []

    def make(**settings: str) -> Harness:
        texts = {name.replace("_", "."): text for name, text in settings.items()}
        harnesses.append(Harness(tmp_path / "data", {"durability": "os", **texts}))
        return harnesses[-1]

    yield make
    harnesses[-1].stop()


@pytest.fixture
def harness(open_harness: OpenHarness) -> Harness:
    return open_harness()


@pytest.fixture
def watch() -> Iterator[Callable[[Any], Callable[[], list[Any]]]]:
    """Return a function that lists the living objects of a class that were created since the call.

    The garbage collector is off meanwhile, so an object that is left is in a cycle or referenced.
    Objects of earlier tests' brokers are unfrozen and ignored.
    """

    def objects(of: Any) -> list[Any]:
        return [each for each in gc.get_objects() if isinstance(each, of)]

    def begin(of: Any) -> Callable[[], list[Any]]:
        earlier = objects(of)  # Held, so that no new object gets the id of one of them.
        known = set(map(id, earlier))
        return lambda: [each for each in objects(of) if id(each) not in known]

    gc.unfreeze()
    gc.collect()
    gc.disable()
    yield begin
    gc.enable()
