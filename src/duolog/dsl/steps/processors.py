"""Processors as steps of a topology, and the stores that they use.

    counts = key_value_store("counts", key="user STRING", value="n BIGINT")
    visits.process(Counting, stores=[counts], value="n BIGINT").to("counted")

Source: Kafka Streams `KStream.process`, `KStream.processValues` (KIP-820), `Stores`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from duolog.dsl.expressions.schemas import Declared, declared_schema
from duolog.dsl.handles.short_tracebacks import short_traceback
from duolog.dsl.steps.records import Records
from duolog.functions.processors import FixedKeyProcessor, Processor
from duolog.plan.awaiting import ensure_awaits_nothing
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Process, ProcessOutput
from duolog.plan.processors import Definition, KeptStore, Output
from duolog.plan.schema import Schema

Makes = Callable[[], object]
"""A processor class, or a function that returns a new processor each time."""
Columns = tuple[Declared | None, Declared]
"""Key and value columns; a key of None is the stream's key."""


@short_traceback
def key_value_store(
    name: str, *, key: Declared, value: Declared, timestamped: bool = False
) -> KeptStore:
    """Return a store of values by key, for processors (`KeyValueStore`).

    Args:
        name: its name in the processor, on disk and for `application.store(name)`.
        key: its columns; a key of one column is that value, a key of several is a tuple.
        value: its columns; a value of one column is that value, a value of several is a dict.
        timestamped: `get` returns a value with its timestamp.
    """
    schema = declared_schema(key, value)
    return KeptStore(name, "key-value", schema.key, schema.value, timestamped=timestamped)


@short_traceback
def window_store(
    name: str, *, key: Declared, value: Declared, size: Duration, retention: Duration
) -> KeptStore:
    """Return a store of values by key and window, for processors (`WindowStore`).

    Args:
        name: its name.
        key: its columns, without the window.
        value: its columns.
        size: the length of its windows.
        retention: for how long a window can be found after the latest start that was put; at least
            `size`.
    """
    schema = declared_schema(key, value)
    kept_ms, size_ms = milliseconds(retention, "retention"), milliseconds(size, "size")
    return KeptStore(name, "window", schema.key, schema.value, kept_ms, size_ms)


@short_traceback
def session_store(name: str, *, key: Declared, value: Declared, retention: Duration) -> KeptStore:
    """Return a store of values by key and session (`SessionStore`) for processors.

    `retention` starts at the end of a session.
    """
    schema = declared_schema(key, value)
    return KeptStore(
        name, "session", schema.key, schema.value, milliseconds(retention, "retention")
    )


@short_traceback
def versioned_store(name: str, *, key: Declared, value: Declared, history: Duration) -> KeptStore:
    """Return a store with earlier versions of values by key, for processors (`VersionedStore`).

    `history` is the time for which earlier versions can be read, counted from the greatest time
    that was put.
    """
    schema = declared_schema(key, value)
    return KeptStore(name, "versioned", schema.key, schema.value, milliseconds(history, "history"))


class Processing(Records):
    """The methods that add processors: a base class of `Stream`."""

    def process(
        self,
        processor: Makes,
        *,
        stores: Sequence[KeptStore] = (),
        key: Declared | None = None,
        value: Declared | None = None,
        name: str | None = None,
    ) -> Self:
        """Pass each record to a `Processor`, and return the records that it forwards.

        A processor has its own stores and schedules.

        Records are in the task of their key. If the key has changed, they are shuffled before the
        processor. As the processor may change it, they are also shuffled after it if a later step
        requires that. A processor can be the end of a stream: its output does not need a reader.

        Args:
            processor: a class that is a `Processor`, or a function that returns a new one each
                time.
            stores: its stores, for `context.store(name)`. Steps with the same store share it; no
                shuffle may be between them.
            key: the key columns of the forwarded records; by default those of this stream.
            value: the value columns of the forwarded records; by default those of this stream.
            name: the name of the step, which is also part of the name of its internal store.

        Raises:
            StatementError: it is not a processor, or a store belongs to another topology.

        Example:
            >>> from duolog import Processor, Topology, key_value_store
            >>> class Counting(Processor):
            ...     def init(self, context):
            ...         self.context, self.counts = context, context.store("counts")
            ...     def process(self, record):
            ...         n = (self.counts.get(record.key) or 0) + 1
            ...         self.counts.put(record.key, n)
            ...         self.context.forward(record.with_value({"n": n}))
            >>> counts = key_value_store("counts", key="user STRING", value="n BIGINT")
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> print(visits.process(Counting, stores=[counts], value="n BIGINT").schema)
            key (user STRING) value (n BIGINT)
        """
        outputs = (Output("", self._made(key, value)),)
        return self._outputs(processor, Processor, outputs, stores, name)[0]

    def process_values(
        self,
        processor: Makes,
        *,
        stores: Sequence[KeptStore] = (),
        value: Declared | None = None,
        name: str | None = None,
    ) -> Self:
        """Do the same as `process` with a `FixedKeyProcessor`, after which no shuffle is needed."""
        outputs = (Output("", self._made(None, value)),)
        return self._outputs(processor, FixedKeyProcessor, outputs, stores, name)[0]

    def process_to(
        self,
        processor: Makes,
        *,
        children: Mapping[str, Columns | Declared | None],
        stores: Sequence[KeptStore] = (),
        name: str | None = None,
    ) -> dict[str, Self]:
        """Do the same as `process`, with several children: return a stream for each, by name.

        `context.forward(record, "late")` sends a record to one child, `forward(record)` to all.

        Args:
            processor: as for `process`.
            children: their names, and the columns of their records: value columns, a pair of key
                and value columns, or None for the columns of this stream.
            stores: as for `process`.
            name: as for `process`.

        Example:
            >>> from duolog import Processor, Topology
            >>> class Parting(Processor):
            ...     def process(self, record):
            ...         late = record.value["delay"] > 15
            ...         self.context.forward(record, "late" if late else "on time")
            >>> flights = Topology("f").stream("flights", key="id BIGINT", value="delay BIGINT")
            >>> sorted(flights.process_to(Parting, children={"late": None, "on time": None}))
            ['late', 'on time']
        """
        if not children:
            raise InvalidPlan(
                "process_to needs the names of its children",
                hint="Use process(...) for a single child without a name.",
            )
        outputs = tuple(
            Output(called, self._made(*(of if isinstance(of, tuple) else (None, of))))
            for called, of in children.items()
        )
        made = self._outputs(processor, Processor, outputs, stores, name)
        return dict(zip(children, made, strict=True))

    def _made(self, key: Declared | None, value: Declared | None) -> Schema:
        here = self.schema
        if key is None and value is None:
            return here
        of_value = here.value if value is None else declared_schema(None, value).value
        if key is None:
            return Schema(here.key, of_value, here.window)
        return Schema(declared_schema(key, "unused INT").key, of_value)

    def _outputs(
        self,
        processor: Makes,
        kind: type,
        outputs: tuple[Output, ...],
        stores: Sequence[KeptStore],
        name: str | None,
    ) -> list[Self]:
        """Add the step and its outputs; return a stream for each output."""
        _ensure_makes(processor, kind)
        fixed_key = kind is FixedKeyProcessor
        definition = Definition(processor, self.schema, outputs, tuple(stores), fixed_key)
        step = self.builder.add("process", lambda made: Process(made, self.node, definition), name)
        return [self._output(step, number) for number in range(len(outputs))]

    def _output(self, step: Process, number: int) -> Self:
        return self._then("output", lambda made: ProcessOutput(made, step, number))


def _ensure_makes(processor: object, kind: type) -> None:
    """Raise a StatementError unless this creates processors of a kind."""
    for step in ("init", "process", "close"):
        if (of := getattr(processor, step, None)) is not None:
            ensure_awaits_nothing(of, f"Processors cannot await: write def {step}(self, …).")
    if not isinstance(processor, type) and callable(processor):
        ensure_awaits_nothing(processor, "Use the class, or a function that returns a new one.")
    other = "process_values" if kind is Processor else "process"
    wrong = FixedKeyProcessor if kind is Processor else Processor
    if isinstance(processor, type):
        if issubclass(processor, wrong):
            raise InvalidPlan(
                f"{processor.__name__} is a {wrong.__name__}", hint=f"Use {other}(...)."
            )
        if not issubclass(processor, kind):
            raise InvalidPlan(
                f"{processor.__name__} is not a {kind.__name__}",
                hint=f"Inherit: class {processor.__name__}(duolog.{kind.__name__}): …",
            )
    elif isinstance(processor, kind | wrong):
        raise InvalidPlan(
            f"{type(processor).__name__} is a single object, but each task needs its own",
            hint=f"Use the class, or a function: lambda: {type(processor).__name__}(...).",
        )
    elif not callable(processor):
        raise InvalidPlan(f"{processor!r} is not a {kind.__name__}, and does not create one")
