"""The methods that streams and tables share: filter, new values, writing to a topic."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Self

from duolog.core.errors import DuologError
from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.elements import free_name
from duolog.dsl.expressions.names import find_fields, named
from duolog.dsl.expressions.python_functions import (
    Function,
    bound,
    call_with_columns,
    is_function,
    is_of_columns,
    parts_of,
    predicate,
)
from duolog.dsl.expressions.schemas import class_columns
from duolog.dsl.handles.foreign_names import OF_RECORDS
from duolog.dsl.handles.handles import Handle
from duolog.dsl.handles.html import plan_html
from duolog.dsl.running import Running
from duolog.plan.awaiting import is_coroutine
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Call, ColumnRef, Expression, Named, PythonCall
from duolog.plan.expressions.key_functions import key_function
from duolog.plan.formats import Format, internal_key_format
from duolog.plan.literals import PlainValue
from duolog.plan.nodes import Filter, ForEach, Node, Print, Project, Sink, Source
from duolog.plan.nodes.topics import FOR_EVER
from duolog.plan.schema import Schema
from duolog.plan.types import Column, Struct, render_columns
from duolog.serde.called_record import CalledRecord

Partitioner = Expr | Callable[..., int | None]
"""Chooses a partition: an expression over a record, or a function of its key or of columns."""


class Records(Handle):
    """A handle of a node of the plan: the base of `Stream` and `Table`."""

    _foreign = OF_RECORDS
    __iter__ = None  # [...] alone would make it iterable.

    def __init__(self, builder: Builder, node: Node) -> None:
        self.builder = builder
        self.node = node

    @property
    def schema(self) -> Schema:
        """The columns of the records."""
        return self.node.schema

    def filter(self, condition: Expr | Function) -> Self:
        """Keep the records for which the condition is true (neither false nor null).

        Or pass a function whose parameters are columns: `filter(lambda amount: amount > 3)`.
        """
        predicate = self._predicate(condition)
        return self._then("filter", lambda name: Filter(name, self.node, predicate))

    def filter_not(self, condition: Expr | Function) -> Self:
        """Keep the records for which the condition is false (neither true nor null)."""
        predicate = Call("NOT", (self._predicate(condition),))
        return self._then("filter", lambda name: Filter(name, self.node, predicate))

    def map_values(
        self, /, *columns: str | Expr | Function, **named_columns: Expr | PlainValue | Function
    ) -> Self:
        """Replace the value by these columns: names to keep, or expressions by name.

        A function with columns as parameters is also an expression: `map_values(total=price)`. A
        single function returns the whole value, `map_values(priced)`: the fields of a dataclass, or
        one column called `value`.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="dest STRING", value="dep_delay BIGINT")
            >>> print(flights.map_values("dep_delay", hours=col("dep_delay") / 60).schema)
            key (dest STRING) value (dep_delay BIGINT, hours DOUBLE)
        """
        if len(columns) == 1 and not named_columns and is_function(columns[0]):
            return self._mapped(call_with_columns(columns[0], self.schema))
        values = self._named(columns, named_columns)
        return self._then("map-values", lambda name: Project(name, self.node, values))

    def with_columns(
        self, /, *columns: Expr | Function, **named_columns: Expr | PlainValue | Function
    ) -> Self:
        """Add columns to the value, or replace those of the same name."""
        values = {column.name: ColumnRef(column.name) for column in self.schema.value}
        new = self._named(columns, named_columns)
        together = tuple((values | dict(new)).items())
        return self._then("map-values", lambda name: Project(name, self.node, together))

    def to(
        self,
        topic: str | Expr,
        *,
        topics: Sequence[str] = (),
        key_format: str | None = None,
        value_format: str | Format = "JSON",
        value: type | None = None,
        partitions: int | None = None,
        retention: Duration | None = None,
        loop: bool = False,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> None:
        """Write the records to a topic.

        A table is written as its changelog, with a null value for a deleted row, to a compacted
        topic. A windowed key is written as in Kafka Streams: the bytes of the columns before the
        window, then the window's start in 8 bytes.

        Args:
            topic: the topic's name; it is created if it does not exist. Or an expression that
                chooses one of `topics` for each record: `orders.to(concat(col("region"),
                "-orders"), topics=[...])`.
            topics: all topics that the expression may return; each is created if it does not exist.
                If it returns another one, producing the record fails.
            key_format: by default `KAFKA`, or `JSON` if the key has several columns.
            value_format: the format of the value; a `Format` also has options, such as the schema
                of AVRO. The schemas of AVRO, JSON_SR and PROTOBUF are registered at the start.
            value: for these formats, a class whose schema is used, as for `schema_of`. Its fields
                are the columns of the value. By default, the columns make the schema.
            partitions: the number of partitions of a new topic; by default one for each task.
            retention: the retention of a new topic: "30 days", a timedelta, or "for ever". For a
                windowed table it starts at the end of the grace period and uses the rows'
                timestamps, so old rows expire at once. By default a table's rows do not expire, and
                a stream's records have the broker's retention.
            loop: permit that the topic feeds itself: this topology reads it, and the records lead
                back to it.
            partitioner: the partition of each record, an INT from 0, `col("region") % 4`; by
                default, or if it is null, the key decides. Or a function of the key (a tuple if it
                has several columns), which returns a partition or None. It is called in the process
                that started the application, once for each of the last 100,000 keys, and must
                return the same for the same key; each new key costs a call to Python. A function
                whose parameters are annotated and named after columns, `def by(region: str, n: int)
                -> int | None`, is called with these, like functions of `map_values`.
            name: the name of the step, as for `named`.
        """
        chosen = self._chosen_topic(topic, topics)
        first = topic if isinstance(topic, str) else chosen[1][0]
        key = (
            Format(key_format.upper()) if key_format else internal_key_format(self.schema.inner_key)
        )
        form = value_format if isinstance(value_format, Format) else Format(value_format.upper())
        value_form = _value_form(form, value, self.schema.value)
        kept_ms = None if retention is None else _retention_ms(retention)
        by = None if partitioner is None else self._partition(partitioner)
        self.builder.add(
            "sink",
            lambda name: Sink(
                name, self.node, first, key, value_form, partitions, kept_ms, *chosen, loop, by
            ),
            name,
        )

    def _chosen_topic(
        self, topic: str | Expr, topics: Sequence[str]
    ) -> tuple[Expression | None, tuple[str, ...]]:
        """Return the expression that chooses the topic of each record, and its possible results."""
        if isinstance(topic, str):
            if topics:
                raise InvalidPlan(
                    "topics= is only for an expression that chooses a topic",
                    hint=f'Call to("{topic}") once for each topic.',
                )
            return None, ()
        if not isinstance(topic, Expr):
            raise TypeMismatch(
                f"{topic!r} is not a topic", hint='Write to("orders"), with the name of the topic.'
            )
        if isinstance(topics, str) or not topics:
            raise InvalidPlan(
                f"the topics of {topic.expression} are unknown",
                detail="Each topic is created before the first record is processed.",
                hint='List them: to(..., topics=["eu-orders", "us-orders"]).',
            )
        return find_fields(topic.expression, self.schema.names), tuple(dict.fromkeys(topics))

    def named(self, name: str) -> Self:
        """Name the last step, so that its name does not depend on the number of steps before it.

        The name is used in `describe`, errors and metrics. A table's store without a name of its
        own is named after it, and keeps its state when the topology grows.

        Example:
            >>> from duolog import Topology, col
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> somewhere = visits.filter(col("place") != "").named("somewhere")
            >>> counted = somewhere.group_by_key().count()
            >>> print(counted.named("by-user").node.stores[0])
            by-user-store
        """
        return type(self)(self.builder, self.builder.rename(self.node, name))

    def print(self, label: str | None = None, *, limit: int | None = None) -> None:
        """Print records in the terminal where the program was started: time, key and value.

        For a table, new rows are printed, and `null` for a deleted one.

        Args:
            label: a prefix for each record; by default the topic, or the step's name in `describe`.
            limit: the number of records to print; by default all, as far as the terminal keeps up.
        """
        here = self.node
        said = label or (here.topic if isinstance(here, Source) else here.name)
        self.builder.add("print", lambda name: Print(name, self.node, said, limit))

    def peek(
        self,
        label: str | Callable[[CalledRecord], object] | None = None,
        *,
        limit: int | None = None,
    ) -> Self:
        """Print records as `print`, or call a function as `for_each`, and return the same records.

        Readers downstream may see a record before the function is called with it.
        """
        if callable(label):
            self.for_each(label)
        else:
            self.print(label, limit=limit)
        return self

    def for_each(self, function: Callable[[CalledRecord], object]) -> None:
        """Call a function with each record, in the process that started the application.

        The function receives a record with `key`, `value` (a dict by column), `timestamp_ms` and
        `headers`, and the `topic`, `partition` and `offset` of the source record that caused it.
        For a table, it receives new rows, and None for a deleted one. Its result is ignored.

        - At least once: a micro-batch, or an epoch in real-time mode, is committed after the calls
          for all of its records; the records of one that was not committed are repeated. A function
          that must not run twice must check this itself.
        - In order by key: one thread calls all functions of the application, one record after the
          other. A slow function slows down the application, and a stop waits for it.
        - If it raises, the query fails with an error that names the record, and no further function
          is called. Alternatively the record is skipped and counted, according to the setting
          `processing.exception.handler`.
        - It runs where the application was started, so the master must be local. For expensive
          work, write a topic (`to`) and use a consumer.

        Example:
            >>> from duolog import Topology, col
            >>> orders = Topology("shop").stream("orders", key="id BIGINT", value="amount BIGINT")
            >>> orders.filter(col("amount") > 100).for_each(lambda record: print(record.key))
        """
        self.builder.add("for-each", lambda name: ForEach(name, self.node, function))

    def live(self, every_s: float = 1.0) -> Any:
        """Show the running application's output in a notebook, until you call `stop()` on it.

        A table is shown with its current rows, a stream with its last records.

        Raises:
            StatementError: no application runs the topology, or no topic has these records.
            ConfigError: IPython is not installed.
        """
        return self._running().view_of(self.node).live(every_s)

    def _repr_html_(self) -> str:
        """Return the notebook view: the records if they can be read, else columns and plan."""
        if self.builder.running is None:
            return plan_html(self.node, "No application runs it.")
        try:
            return self.builder.running.view_of(self.node).to_html()
        except DuologError as error:
            return plan_html(self.node, error.render())

    def _running(self) -> Running:
        if self.builder.running is None:
            raise InvalidPlan(
                f'no application runs "{self.node}" in this process',
                hint="Start one: Application(topology, …).start(). Its rows are read from its "
                "topic.",
            )
        return self.builder.running

    def __getitem__(self, wanted: object) -> NoReturn:
        """Refuse pandas' syntax: a column, several columns, or a condition."""
        if isinstance(wanted, str):
            hint = (
                f'Write col("{wanted}") for the column, as in '
                f'filter(col("{wanted}").is_not_null()).'
            )
        elif isinstance(wanted, Expr):
            hint = "Write filter(condition)."
        elif isinstance(wanted, list | tuple):
            hint = f"Write map_values({', '.join(map(repr, wanted))})."
        else:
            hint = "Write filter(condition), or print(limit=10) to see records as they pass."
        raise InvalidPlan(f"{self._called()} has no [...]", hint=hint)

    def _called(self) -> str:
        return "a table" if self.node.is_table else "a stream"

    def _columns(self) -> tuple[str, ...]:
        return tuple(self.node.schema.names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.node}: {self.schema}>"

    def _partition(self, partitioner: Partitioner) -> Expression:
        if isinstance(partitioner, Expr):
            return find_fields(partitioner.expression, self.schema.names)
        if callable(partitioner):
            if not is_coroutine(partitioner) and is_of_columns(partitioner, self.schema):
                return call_with_columns(partitioner, self.schema)
            return key_function(partitioner, self.schema)
        raise TypeMismatch(
            f"{partitioner!r} is neither an expression over columns nor a function of the key",
            hint='Write partitioner=col("region") % 4, or partitioner=function.',
        )

    def _named(
        self,
        columns: Sequence[str | Expr | Function],
        by_name: Mapping[str, Expr | PlainValue | Function],
    ) -> tuple[Named, ...]:
        """Do the same as `named`, for functions as well."""
        given: list[str | Expr] = [bound(column, self.schema) for column in columns]
        named_columns: dict[str, Expr | PlainValue] = {
            name: bound(value, self.schema) for name, value in by_name.items()
        }
        return named(given, named_columns, self.schema.names)

    def _mapped(self, call: PythonCall) -> Self:
        """Return records with the result of a function as their value."""
        of = call.function.result
        if not isinstance(of, Struct):
            return self._then(
                "map-values", lambda name: Project(name, self.node, (("value", call),))
            )
        # Call the function once per record, not once for each of its columns.
        whole = free_name("result", self.schema.names)
        called = self._then("map-values", lambda name: Project(name, self.node, ((whole, call),)))
        values = parts_of(ColumnRef(whole), of, "value")
        return called._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, called.node, values)
        )

    def _predicate(self, condition: Expr | Function) -> Expression:
        if not isinstance(condition, Expr) and callable(condition):
            return predicate(condition, self.schema)
        return find_fields(_condition(condition).expression, self.schema.names)

    def _then(self, kind: str, make: Callable[[str], Node]) -> Self:
        return type(self)(self.builder, self.builder.add(kind, make))


def _condition(condition: object) -> Expr:
    # Python evaluates a comparison of two Python values before the call: filter("a" == "b").
    if not isinstance(condition, Expr):
        raise TypeMismatch(
            f"{condition!r} is not a condition over columns",
            hint='Write filter(col("dest") == "SFO").',
        )
    return condition


def _retention_ms(retention: Duration) -> int:
    return FOR_EVER if retention == "for ever" else milliseconds(retention, "retention")


def _value_form(form: Format, of: type | None, columns: tuple[Column, ...]) -> Format:
    """Return the format of a value, with the schema of its class if there is one.

    Raises:
        StatementError: the columns are not those of the class.
    """
    if of is None:
        return form
    typed = class_columns(of, form)
    if typed is None:
        raise InvalidPlan(
            f"value={of!r} has no schema in the format {form.name}",
            hint='Use a class with fields, and value_format="AVRO", "JSON_SR" or "PROTOBUF".',
        )
    if set(typed[0]) != set(columns):
        raise TypeMismatch(
            f"the columns of the value are not the fields of {of.__name__}",
            detail=f"The columns are ({render_columns(columns)}), the fields "
            f"({render_columns(typed[0])}).",
            hint="Select the columns with map_values, or change the class.",
        )
    return typed[1]
