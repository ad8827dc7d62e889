"""What a user writes, and what it asks: a processor and its context.

    class Counting(Processor):
        def init(self, context):      store, schedules
        def process(self, record):    once for each record
        def close(self):              where it ends in order

Source: Kafka Streams `Processor`, `FixedKeyProcessor`, `ProcessorContext`, `FixedKeyProcessorContext` (KIP-478, KIP-820).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from duolog.functions.processors.records import FixedKeyRecord, Record, RecordMetadata
from duolog.functions.processors.schedules import PunctuationType
from duolog.plan.durations import Duration


class Cancellable(Protocol):
    """A schedule that can be cancelled. Source: Kafka Streams `Cancellable`."""

    def cancel(self) -> None:
        """Let it be called no more."""


RecordT_contra = TypeVar("RecordT_contra", bound=Record, contravariant=True)


class ProcessingContext(Protocol[RecordT_contra]):
    """What a processor asks, and where it forwards to; in `init`, `process` and callbacks only."""

    @property
    def application_id(self) -> str:
        """The id of the application."""

    @property
    def task_id(self) -> str:
        """The task: `1_0` is task 0 of sub-topology 1."""

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Topic, partition and offset of the record of a source that set this one off; None without a record."""

    def current_stream_time_ms(self) -> int:
        """Return the greatest timestamp of the records that have come to the task; -1 before the first."""

    def current_system_time_ms(self) -> int:
        """Return the time by the wall clock; in a test that of the driver."""

    def store(self, name: str) -> Any:
        """Return a store that the step was given by name.

        Raises:
            StatementError: it was given no such store.
        """

    def schedule(
        self,
        interval: Duration,
        kind: PunctuationType | str,
        callback: Callable[[int], object],
    ) -> Cancellable:
        """Have a function called again and again, with the time: its task's stream time, or the wall clock's.

        By "stream time" first with the next record, when that is done, and then whenever time has passed another
        multiple of the interval. By "wall clock" first when the interval has passed. Where several have passed at once,
        it is called once. What `init` schedules goes on where it was when the processor is made anew; what is scheduled
        elsewhere is then forgotten.

        Args:
            interval: a timedelta, or a text such as "10 seconds".
            kind: "stream time" or "wall clock".
            callback: a function of the time, in milliseconds.

        Raises:
            StatementError: the interval cannot be read, or is shorter than a millisecond; there is no such kind; or nobody
                would wait for the callback, a coroutine.
        """

    def forward(self, record: RecordT_contra, to: str | None = None) -> None:
        """Hand a record on: to the child of that name, or to all there are.

        They get it when the call ends in which it was forwarded, in order.

        Raises:
            StatementError: there is no such child, or the record has no value of a column that fits its type.
        """


ProcessorContext = ProcessingContext[Record]
"""The context of a `Processor`."""
FixedKeyProcessorContext = ProcessingContext[FixedKeyRecord]
"""The context of a `FixedKeyProcessor`: it forwards what it was given, with another value."""

ContextT = TypeVar("ContextT")
RecordT = TypeVar("RecordT", bound=Record)


class _Processing(ABC, Generic[ContextT, RecordT]):
    """What both kinds of processors have."""

    context: ContextT

    def init(self, context: ContextT) -> None:
        """Begin in a task, before its first record. Unless overridden it keeps the context as `self.context`.

        Here stores are taken, and calls scheduled. Where it raises, the query ends.
        """
        self.context = context

    @abstractmethod
    def process(self, record: RecordT) -> None:
        """Take a record. One for which it raises is handled as `processing.exception.handler` says."""

    def close(self) -> None:
        """End, where the process that has it ends in order, within a second, and not when it is killed; or where the task was elsewhere.

        Its stores can be read, and not written.
        """


class Processor(_Processing[ProcessorContext, Record]):
    """A class of a user's that takes records one by one, keeps stores and forwards what it makes: `stream.process(...)`.

    There is one for each step and task. It is in a process beside the engine, and may be made anew at any time between two
    records: after a start, a failure, or some minutes without one. So what must outlive that belongs into a store; in the
    object itself it is gone then, and what a micro-batch did there is not undone when that runs again. It is the free way,
    and the slow one: its process takes some 30,000 records a second of its own time, each with a get and a put of a store, and
    the way to it and back comes on top (`bench/processors.py`). A count in the kernel takes hundreds of thousands.
    """


class FixedKeyProcessor(_Processing[FixedKeyProcessorContext, FixedKeyRecord]):
    """A `Processor` that keeps the key of each record, so that nothing is shuffled behind it: `stream.process_values(...)`."""
