"""The interface of processors: the classes that users implement, and the context that they use.

    class Counting(Processor):
        def init(self, context):      get stores, schedule calls
        def process(self, record):    called for each record
        def close(self):              called on an orderly end

Source: Kafka Streams `Processor`, `FixedKeyProcessor`, `ProcessorContext`,
`FixedKeyProcessorContext` (KIP-478, KIP-820).
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
        """Stop further calls."""


RecordT_contra = TypeVar("RecordT_contra", bound=Record, contravariant=True)


class ProcessingContext(Protocol[RecordT_contra]):
    """The interface of a processor to the engine, only for `init`, `process` and callbacks."""

    @property
    def application_id(self) -> str:
        """The id of the application."""

    @property
    def task_id(self) -> str:
        """The task: `1_0` is task 0 of sub-topology 1."""

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Topic, partition and offset of the source record; None without a record."""

    def current_stream_time_ms(self) -> int:
        """Return the greatest timestamp of the task's records; -1 before the first one."""

    def current_system_time_ms(self) -> int:
        """Return the wall-clock time; in a test, that of the driver."""

    def store(self, name: str) -> Any:
        """Return a store of the step by name.

        Raises:
            StatementError: the step has no such store.
        """

    def schedule(
        self,
        interval: Duration,
        kind: PunctuationType | str,
        callback: Callable[[int], object],
    ) -> Cancellable:
        """Call a function periodically, with the task's stream time or the wall-clock time.

        By "stream time", the first call follows the next record, and later ones follow whenever
        stream time has passed another multiple of the interval. By "wall clock", the first call is
        made after one interval. If several intervals pass at once, there is one call. Schedules of
        `init` continue when the processor is recreated; others are then lost.

        Args:
            interval: a timedelta, or a text such as "10 seconds".
            kind: "stream time" or "wall clock".
            callback: a function of the time, in milliseconds.

        Raises:
            StatementError: the interval cannot be parsed or is shorter than a millisecond, the kind
                is unknown, or the callback is a coroutine.
        """

    def forward(self, record: RecordT_contra, to: str | None = None) -> None:
        """Forward a record to the child of this name, or to all children.

        The children receive it in order, after the current call has returned.

        Raises:
            StatementError: there is no such child, or a column's value does not fit its type.
        """


ProcessorContext = ProcessingContext[Record]
"""The context of a `Processor`."""
FixedKeyProcessorContext = ProcessingContext[FixedKeyRecord]
"""The context of a `FixedKeyProcessor`, which forwards its input records with another value."""

ContextT = TypeVar("ContextT")
RecordT = TypeVar("RecordT", bound=Record)


class _Processing(ABC, Generic[ContextT, RecordT]):
    """The base of both kinds of processors."""

    context: ContextT

    def init(self, context: ContextT) -> None:
        """Start in a task, before its first record. The default implementation sets `self.context`.

        Get stores and schedule calls here. If it raises, the query ends.
        """
        self.context = context

    @abstractmethod
    def process(self, record: RecordT) -> None:
        """Process a record. If it raises, `processing.exception.handler` decides its fate."""

    def close(self) -> None:
        """Clean up within a second, when the worker stops or the task has moved.

        Not called when the worker is killed.

        Stores can be read, but not written.
        """


class Processor(_Processing[ProcessorContext, Record]):
    """A user's class that processes and forwards records one by one, with stores.

    Used by `stream.process(...)`.

    There is one instance for each step and task. It is in a process next to the engine, and may be
    recreated at any time between two records: after a start, a failure, or some minutes without a
    record. State that must survive belongs in a store; attributes of the object are lost, and are
    not rolled back when a micro-batch is repeated. Processors are flexible but slow: a process
    handles some 30,000 records per second of its own time, each with a get and a put, plus the
    transfer in both directions (`bench/functions/processors.py`). A count in the kernel handles
    hundreds of thousands.
    """


class FixedKeyProcessor(_Processing[FixedKeyProcessorContext, FixedKeyRecord]):
    """A `Processor` that keeps the key of each record, so that no shuffle after it is needed.

    Used by `stream.process_values(...)`.
    """
