"""Runs a processor: in one task, with its stores, its schedules and its output.

    runtime = ProcessorRuntime(definition, processor_id, stores, clock)
    runtime.begin(stream_time, stored)                   init, unless done; schedules continue
    runtime.process(Given(key, value, 1000, …), 1000)    ProcessorOutput: records and errors
    runtime.punctuate(PunctuationType.STREAM_TIME, 2000, 2000)

Threads: one at a time. Source: Kafka Streams `ProcessorNode`, `StreamTask`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, cast

from duolog.core.errors import DuologError, StatementError
from duolog.core.exception_text import describe_exception
from duolog.functions.places import place_in
from duolog.functions.processors.codecs import Codec, ColumnsCodec
from duolog.functions.processors.records import (
    FixedKeyRecord,
    Headers,
    Record,
    RecordMetadata,
    checked_headers,
    fixed,
)
from duolog.functions.processors.schedules import (
    PunctuationType,
    Schedule,
    Schedules,
    StoredSchedules,
)
from duolog.functions.processors.store import Store
from duolog.plan.awaiting import ensure_awaits_nothing
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.processors import Definition
from duolog.plan.types import Column
from duolog.serde.row import Row


class ProcessorId(NamedTuple):
    """The task and step of a processor."""

    application_id: str
    task_id: str
    node: str


class Given(NamedTuple):
    """An input record: columns of key and value, None if they are null."""

    key: Row | None
    value: Row | None
    timestamp_ms: int
    headers: Headers
    metadata: RecordMetadata


class Forwarded(NamedTuple):
    """A forwarded record: the number of its output, and columns by name."""

    output: int
    key: dict[str, object] | None
    value: dict[str, object] | None
    timestamp_ms: int
    headers: Headers


@dataclass(slots=True)
class ProcessorOutput:
    """The forwarded records and the errors of a call."""

    forwarded: list[Forwarded] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class InitFailed(Exception):
    """A processor could not start; no record is the cause."""


class ProcessorRuntime:
    """One processor in one task; also its context."""

    def __init__(
        self,
        definition: Definition,
        processor_id: ProcessorId,
        stores: Mapping[str, Store],
        clock: Callable[[], int],
    ) -> None:
        self._definition = definition
        self._id = processor_id
        self._stores = stores
        self._clock = clock
        self._schedules = Schedules()
        self._instance: _Instance | None = None
        self._begins = False
        self._stream_time = -1
        self._metadata: RecordMetadata | None = None
        self._output: ProcessorOutput | None = None
        self._key = _Columns(definition.input.key)
        self._names = [column.name for column in definition.input.value]
        self._outputs = {of.name: n for n, of in enumerate(definition.outputs)}
        self._shapes = [
            (_Columns(of.schema.key), ColumnsCodec(of.schema.value)) for of in definition.outputs
        ]

    # The interface of the caller that runs it.

    @property
    def schedules(self) -> Schedules:
        return self._schedules

    def begin(self, stream_time: int, stored: StoredSchedules | None) -> ProcessorOutput:
        """Create the processor, unless it exists; its schedules continue as `stored`.

        Raises:
            InitFailed: it cannot be created.
        """
        self._stream_time = stream_time
        output = ProcessorOutput()
        if self._instance is None:
            self._output, self._begins = output, True
            try:
                self._instance = self._made()
                self._instance.init(self)
            except (Exception, SystemExit) as error:
                why = self._failed("init", error)
                self._instance = None
                raise InitFailed(why) from error
            finally:
                self._output, self._begins = None, False
        if stored is not None:
            self._schedules.restore(stored)
        return output

    def _made(self) -> "_Instance":
        made = self._definition.make()
        if not callable(getattr(made, "process", None)):
            raise StatementError(
                f"{self._definition.called} returns {type(made).__name__}, which is not a "
                "processor",
                hint="Use a Processor class, or a function that returns a new one each time.",
            )
        return cast("_Instance", made)

    def process(self, given: Given, stream_time: int) -> ProcessorOutput:
        """Call it with a record."""
        self._stream_time = stream_time
        self._metadata = given.metadata
        columns = (
            dict(zip(self._names, given.value, strict=True)) if given.value is not None else None
        )
        key = None if given.key is None else self._key.shown(given.key)
        make = fixed if self._definition.fixed_key else Record
        record = make(key, columns, given.timestamp_ms, given.headers)
        for store in self._stores.values():
            store.at(given.timestamp_ms)
        instance = self._instance
        assert instance is not None, "begin() creates it"
        output = self._called("process", lambda: instance.process(record))
        self._metadata = None
        return output

    def punctuate(self, kind: PunctuationType, now: int, stream_time: int) -> ProcessorOutput:
        """Make the scheduled calls that are due, earliest first."""
        self._stream_time = stream_time
        output = ProcessorOutput()
        for schedule in self._schedules.pass_due(kind, now):
            for store in self._stores.values():
                store.at(max(now, 0))
            one = self._called("punctuation", partial(schedule.callback, now))
            output.forwarded += one.forwarded
            output.errors += one.errors
        return output

    def skip(self, kind: PunctuationType, now: int) -> None:
        """Skip the calls that are due: one of them was lost with its process."""
        for _ in self._schedules.pass_due(kind, now):
            pass

    def close(self) -> None:
        """Close it; its stores can be read, but not written."""
        if self._instance is not None:
            with contextlib.ExitStack() as closing:
                for store in self._stores.values():
                    closing.enter_context(store.read_only())
                self._instance.close()
            self._instance = None

    def _called(self, what: str, call: Callable[[], object]) -> ProcessorOutput:
        output = self._output = ProcessorOutput()
        try:
            call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a user's processor may raise anything
            output.errors.append(self._failed(what, error))
        finally:
            self._output = None
        return output

    def _failed(self, what: str, error: BaseException) -> str:
        """Return the processor, the line in the user's code, and the error."""
        own = _file_of(self._instance if self._instance is not None else self._definition.make)
        at = place_in(error, own)
        place = f" ({at})" if at else ""
        why = describe_exception(error)
        if isinstance(error, DuologError):
            why = error.one_line()
        return " ".join(f"{self._definition.called}.{what}{place}: {why}".split())

    # The context: see `contexts.ProcessingContext`.

    @property
    def application_id(self) -> str:
        return self._id.application_id

    @property
    def task_id(self) -> str:
        return self._id.task_id

    @property
    def record_metadata(self) -> RecordMetadata | None:
        return self._metadata

    def current_stream_time_ms(self) -> int:
        return self._stream_time

    def current_system_time_ms(self) -> int:
        return self._clock()

    def store(self, name: str) -> Store:
        try:
            return self._stores[name]
        except KeyError:
            given = ", ".join(self._stores) or "none"
            raise StatementError(
                f'{self._definition.called} has no store "{name}"',
                detail=f"Its stores are {given}.",
                hint="Add it to stores= of the step.",
            ) from None

    def schedule(
        self, interval: Duration, kind: PunctuationType | str, callback: Callable[[int], object]
    ) -> "_Cancel":
        try:
            of = PunctuationType(kind)
        except ValueError:
            raise StatementError(
                f"{kind!r} is not a kind of schedule",
                hint='Use "stream time" or "wall clock".',
            ) from None
        ensure_awaits_nothing(callback, "Use a function that returns after its work is done.")
        interval_ms = milliseconds(interval, "interval")
        if interval_ms < 1:
            raise StatementError(
                f"an interval of {interval_ms} ms is shorter than a millisecond",
                hint='Use a longer one: "10 seconds".',
            )
        made = self._schedules.add(of, interval_ms, self._clock(), callback, kept=self._begins)
        return _Cancel(made)

    def forward(self, record: Record, to: str | None = None) -> None:
        output = self._output
        if output is None:
            raise StatementError(
                "a record is forwarded outside of a call",
                hint="Forward in init, process or a callback, not in another thread.",
            )
        if self._definition.fixed_key and not isinstance(record, FixedKeyRecord):
            raise StatementError(
                f"{record!r} is not a record with a fixed key",
                hint="Forward record.with_value(...), or use process() to change keys.",
            )
        if not isinstance(record, Record):
            raise StatementError(
                f"{record!r} is not a Record", hint="Forward Record(key, value, timestamp_ms)."
            )
        headers = checked_headers(record.headers) if record.headers else ()
        for number in self._children(to):
            key, value = self._shapes[number]
            output.forwarded.append(
                Forwarded(
                    number,
                    key.checked(record.key),
                    value.checked(record.value),
                    record.timestamp_ms,
                    headers,
                )
            )

    def _children(self, to: str | None) -> Iterator[int]:
        if to is None:
            return iter(range(len(self._shapes)))
        if to not in self._outputs:
            there = (
                ", ".join(f'"{name}"' for name in self._outputs if name)
                or "only one, without a name"
            )
            raise StatementError(
                f'{self._definition.called} has no child "{to}"',
                detail=f"It has {there}.",
            )
        return iter((self._outputs[to],))


class _Cancel:
    """A schedule that can be cancelled."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def cancel(self) -> None:
        self._schedule.cancelled = True


class _Instance(Protocol):
    """A user's processor, as it is called."""

    def init(self, context: ProcessorRuntime, /) -> object: ...
    def process(self, record: Record, /) -> object: ...
    def close(self) -> object: ...


class _Columns:
    """The columns of a key, converted between records and rows."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._names = [column.name for column in columns]
        self._codecs = [Codec(column.type) for column in columns]

    def shown(self, key: Row) -> object:
        if all(part is None for part in key):
            return None
        return key[0] if len(key) == 1 else key

    def checked(self, key: object) -> dict[str, object] | None:
        """Return a key by column; None for a null key.

        Raises:
            StatementError: it has the wrong number of columns.
            WrongType: a column is not of its type.
        """
        if key is None:
            return None
        parts = key if len(self._names) != 1 else (key,)
        if not isinstance(parts, tuple) or len(parts) != len(self._names):
            raise StatementError(
                f"{key!r} is not a key of columns {', '.join(self._names) or '(none)'}",
                detail="A key of several columns must be a tuple.",
            )
        return {
            name: codec.check(part)
            for name, codec, part in zip(self._names, self._codecs, parts, strict=True)
        }


def _file_of(of: object) -> str | None:
    for code in (getattr(type(of), "process", None), getattr(of, "process", None), of):
        found = getattr(getattr(code, "__code__", None), "co_filename", None)
        if found is not None:
            return str(found)
    return None
