"""Processors in a worker process of the kernel: the tasks that it serves, and the requests.

    begin   creates a task's processor unless it exists; the process now serves this task
    run     processes items in order, and returns the result of each

Each task has one object per store, shared by its processors. Source: the kernel's `ProcessorTask`.
"""

import json
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal as PythonDecimal
from typing import Final

from duolog.functions import values
from duolog.functions.processors import wire
from duolog.functions.processors.codecs import Codec
from duolog.functions.processors.entries import Entries
from duolog.functions.processors.processor_runtime import (
    Forwarded,
    Given,
    InitFailed,
    ProcessorId,
    ProcessorOutput,
    ProcessorRuntime,
)
from duolog.functions.processors.records import RecordMetadata
from duolog.functions.processors.schedules import PunctuationType
from duolog.functions.processors.store import Store
from duolog.functions.processors.stores import KINDS
from duolog.plan.processors import Definition, struct_of

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_FORWARDED: Final = struct.Struct(">iq")
_KINDS: Final = {
    wire.STREAM_TIME: PunctuationType.STREAM_TIME,
    wire.WALL_CLOCK: PunctuationType.WALL_CLOCK_TIME,
}


@dataclass(slots=True)
class _Task:
    """The stores and processors of one task."""

    stores: dict[str, Store] = field(default_factory=dict)
    runtimes: dict[int, ProcessorRuntime] = field(default_factory=dict)
    turns: dict[int, str] = field(default_factory=dict)
    """The micro-batch or epoch in which each processor, by the kernel's name, was last called."""


class _Clock:
    """The wall clock; in a driver's test, that of the driver."""

    def __init__(self) -> None:
        self.driven: int | None = None

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 if self.driven is None else self.driven


class Processors:
    """The processors of a worker process. Threads: one at a time.

    `ask` sends a question to the kernel, which waits for the call to end, and returns its answer.
    """

    def __init__(self, ask: Callable[[bytes], bytes]) -> None:
        self._remote = wire.RemoteStores(ask)
        self._definitions: dict[int, _Defined] = {}
        self._tasks: dict[str, _Task] = {}
        self._now = _Task()
        self._clock = _Clock()

    def define(self, number: int, definition: Definition) -> None:
        self._definitions[number] = _Defined(definition)

    def begin(self, number: int, payload: bytes) -> bytes:
        """Start a processor for a task and return its output, or `!` and the reason of failure."""
        given = json.loads(payload)
        defined = self._definitions[number]
        self._clock.driven = given["wall_clock"]
        task = self._now = self._tasks.setdefault(given["session"], _Task())
        for spec in defined.definition.stores:
            if spec.name not in task.stores:
                task.stores[spec.name] = KINDS[spec.kind](spec, Entries(spec.name, self._remote))
            # Also before a processor is closed: its cached rows would date from when the task was
            # here.
            task.stores[spec.name].forget()
        runtime = task.runtimes.get(number)
        if runtime is not None and task.turns[number] not in (given["last_turn"], given["turn"]):
            # The task ran elsewhere in the meantime, or the latest call here was not committed.
            _close(task.runtimes.pop(number))
            runtime = None
        if runtime is None:
            processor_id = ProcessorId(given["application"], given["task"], given["node"])
            stores = {spec.name: task.stores[spec.name] for spec in defined.definition.stores}
            runtime = ProcessorRuntime(defined.definition, processor_id, stores, self._clock)
        try:
            output = runtime.begin(given["stream_time"], given["schedules"])
        except InitFailed as error:
            return b"!" + str(error).encode(errors="replace")
        task.runtimes[number] = runtime
        task.turns[number] = given["turn"]
        for kind in PunctuationType:
            if kind.value in given["lost"]:
                runtime.skip(kind, given["lost"][kind.value])
        return b"+" + self._result(number, runtime, [output])

    def run(self, number: int, payload: bytes, done: Callable[[int], None]) -> bytes:
        """Call a processor of the task of the last `begin`; return its output."""
        defined, runtime = self._definitions[number], self._now.runtimes[number]
        outputs = []
        for count, item in enumerate(wire.read_items(payload), start=1):
            if item.kind == wire.RECORD:
                outputs.append(runtime.process(defined.given(item), item.stream_time))
            else:
                outputs.append(runtime.punctuate(_KINDS[item.kind], item.time, item.stream_time))
            done(count)
        return b"+" + self._result(number, runtime, outputs)

    def close(self) -> None:
        """Close all processors; a failure of one does not prevent closing the others."""
        for task in self._tasks.values():
            for runtime in task.runtimes.values():
                _close(runtime)
        self._tasks.clear()

    def _result(
        self, number: int, runtime: ProcessorRuntime, outputs: list[ProcessorOutput]
    ) -> bytes:
        defined = self._definitions[number]
        for spec in defined.definition.stores:
            self._now.stores[spec.name].flush()
        parts = [_INT.pack(len(outputs))]
        for one in outputs:
            parts.append(_INT.pack(len(one.forwarded)))
            parts += [defined.record(forwarded) for forwarded in one.forwarded]
            parts.append(_INT.pack(len(one.errors)))
            parts += [wire.put(error.encode(errors="replace")) for error in one.errors]
        parts.append(self._remote.take())
        schedules = runtime.schedules
        parts.append(wire.put(json.dumps(schedules.keep()).encode()))
        parts += [_LONG.pack(schedules.next(kind)) for kind in PunctuationType]
        return b"".join(parts)


def _close(runtime: ProcessorRuntime) -> None:
    try:
        runtime.close()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's processor may raise anything
        print(f"{type(error).__name__} in close: {error}")  # noqa: T201 - it is the user's


class _Defined:
    """A definition with readers of its input and writers of its output."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        columns = definition.input.columns
        self._keys = len(definition.input.key)
        self._names = [f"a{number}" for number in range(len(columns))]
        self._readers = [
            (number, read)
            for number, column in enumerate(columns)
            if (read := values.from_json(column.type)) is not None
        ]
        exact = any(values.has_decimal(column.type) for column in columns)
        self._decode = (
            json.JSONDecoder(parse_float=PythonDecimal) if exact else json.JSONDecoder()
        ).decode
        self._writers = [
            (Codec(struct_of(of.schema.key)).text, Codec(struct_of(of.schema.value)).text)
            for of in definition.outputs
        ]

    def given(self, item: wire.Item) -> Given:
        row: dict[str, object] = self._decode(item.data.decode())
        found = [row.get(name) for name in self._names]
        for number, read in self._readers:
            if found[number] is not None:
                found[number] = read(found[number])
        return Given(
            None if item.null_key else tuple(found[: self._keys]),
            None if item.null_value else tuple(found[self._keys :]),
            item.time,
            wire.read_headers(item.headers),
            RecordMetadata(item.topic, item.partition, item.offset),
        )

    def record(self, one: Forwarded) -> bytes:
        key, value = self._writers[one.output]
        return b"".join(
            (
                _FORWARDED.pack(one.output, one.timestamp_ms),
                wire.put(wire.write_headers(one.headers)),
                wire.put(None if one.key is None else key(one.key).encode(errors="replace")),
                wire.put(None if one.value is None else value(one.value).encode(errors="replace")),
            )
        )
