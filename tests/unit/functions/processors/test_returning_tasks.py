"""A process whose task returns after it was elsewhere, tested without a kernel."""

import json
import struct
import sys
from typing import Any

import pytest

from duolog import Processor, Record, Topology, key_value_store
from duolog.functions.processors import wire
from duolog.functions.processors.entries import Held
from duolog.functions.processors.serving import Processors
from duolog.functions.processors.store import ROWS
from duolog.plan.nodes.process import Process
from duolog.plan.processors import Definition

TEXT: dict[str, Any] = {"key": "id STRING", "value": "said STRING"}
KEY = b'["a"]'
INT, LONG = struct.Struct(">i"), struct.Struct(">q")


class Kernel:
    """Answers like the kernel, for one store."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Held] = {}

    def answer(self, question: bytes) -> bytes:
        reader = wire.Reader(question)
        kind = reader.byte()
        if kind == 3:
            self.take(reader)
            return b""
        assert reader.bytes() == b"said"
        assert reader.long() == ROWS
        if kind == 1:
            held = self.rows.get(reader.bytes() or b"")
            return LONG.pack(0) + wire.put(None if held is None else held.data)
        rows = [
            wire.put(key) + LONG.pack(held.timestamp_ms) + wire.put(held.data)
            for key, held in self.rows.items()
        ]
        return INT.pack(len(rows)) + b"".join(rows)

    def take(self, reader: wire.Reader) -> None:
        for _ in range(reader.integer()):
            assert reader.bytes() == b"said"
            assert reader.long() == ROWS
            key, time, data = reader.bytes(), reader.long(), reader.bytes()
            self.rows[key or b""] = Held(time, data or b"")


class Closing(Processor):
    """Prints the stored value when it is closed, and writes."""

    def init(self, context: Any) -> None:
        self.store = context.store("said")
        list(self.store.all())
        if self.store.get("a") is None:
            self.store.put("a", "begun")
            # Asks for all, and so it is written at once.
            assert list(self.store.all()) == [("a", "begun")]

    def process(self, record: Record) -> None:
        raise NotImplementedError

    def close(self) -> None:
        sys.stdout.write(f"found {self.store.get('a')}\n")
        try:
            self.store.put("a", "closed")
        finally:
            sys.stdout.write(f"all {list(self.store.all())}\n")


def test_a_processor_closed_after_its_task_moved_writes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It overwrote state stored elsewhere with rows that it had read when the task was here."""
    kernel = Kernel()
    processors = Processors(kernel.answer)
    processors.define(0, definition())
    processors.begin(0, turn("second", last="first"))
    assert kernel.rows == {KEY: Held(0, b'"begun"')}
    kernel.rows[KEY] = Held(0, b'"elsewhere"')

    answer = processors.begin(0, turn("fourth", last="third"))

    assert answer[:1] == b"+"
    assert kernel.rows == {KEY: Held(0, b'"elsewhere"')}
    assert capsys.readouterr().out.splitlines()[:3] == [
        "found elsewhere",
        "all [('a', 'elsewhere')]",
        'StatementError in close: store "said" was written in close',
    ]


def test_a_recreated_processor_may_write(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = Kernel()
    processors = Processors(kernel.answer)
    processors.define(0, definition())
    processors.begin(0, turn("second", last="first"))
    kernel.rows.clear()

    processors.begin(0, turn("fourth", last="third"))

    assert capsys.readouterr().out.startswith("found None")
    assert kernel.rows == {KEY: Held(0, b'"begun"')}


def definition() -> Definition:
    topology = Topology("turns")
    stores = [key_value_store("said", key="id STRING", value="said STRING")]
    topology.stream("in", **TEXT).process(Closing, stores=stores).to("out")
    (found,) = [node for node in topology.build().nodes if isinstance(node, Process)]
    return found.definition


def turn(name: str, last: str) -> bytes:
    given: dict[str, Any] = {
        "session": "app 0_0", "application": "app", "task": "0_0", "node": "closing", "wall_clock": None,
        "stream_time": -1, "schedules": None, "lost": {}, "turn": name, "last_turn": last,
    }  # fmt: skip
    return json.dumps(given).encode()
