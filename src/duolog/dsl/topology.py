"""A topology: streams and tables read from topics, their transformations, and the topics to write.

Source: Kafka Streams `StreamsBuilder`, `Topology`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeVar

from duolog.core.windowed_key import WindowedKey
from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.python_functions import Function
from duolog.dsl.expressions.schemas import Declared, class_columns, declared_schema, has_names
from duolog.dsl.expressions.starting import Begin, read_topics, start_of
from duolog.dsl.handles.foreign_names import OF_TOPOLOGIES
from duolog.dsl.handles.handles import Handle
from duolog.dsl.joins.global_tables import GlobalTable
from duolog.dsl.running import Running
from duolog.dsl.steps.merges import merged
from duolog.dsl.steps.metadata import source_times
from duolog.dsl.streams import Stream, Table
from duolog.plan.cutting.levels import find_levels
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.formats import JSON, Format, internal_key_format
from duolog.plan.nodes import GlobalTableSource, Plan, StreamSource, TableSource
from duolog.plan.schema import BOUNDS, Schema
from duolog.plan.text.describe import describe
from duolog.plan.text.streams_text import describe_as_streams
from duolog.plan.times import Invalid
from duolog.plan.types import Column
from duolog.plan.windows import Windows


class Topology(Handle):
    """A program over streams and tables; its state is stored under its name.

    Example:
        >>> from duolog import Topology
        >>> topology = Topology("visits")
        >>> visits = topology.stream("visits", key="user STRING", value="place STRING")
        >>> visits.group_by_key().count("visits").to("visits-by-user")
        >>> print(topology.describe())
        Topology: visits
        Ingress
          stream-1: stream of topic visits, key KAFKA (user STRING) value JSON (place STRING)
            → edge 0
        Level 0
          Sub-topology 0, stores aggregate-3-store
            edge 0 from stream-1
              aggregate-3: by user: visits = count(*), kept in aggregate-3-store
                sink-4: to topic visits-by-user, key KAFKA (user STRING) value JSON (visits BIGINT)
    """

    _foreign = OF_TOPOLOGIES

    def __init__(self, name: str) -> None:
        self.name = name
        self._builder = Builder()

    def stream(
        self,
        topic: str | Sequence[str] = (),
        *,
        value: Declared,
        pattern: str | None = None,
        key: Declared | None = None,
        key_format: str | Format | None = None,
        value_format: str | Format | None = None,
        windowed: Windows | WindowedKey | None = None,
        timestamp: str | Expr | Function | None = None,
        invalid_timestamp: Invalid | None = None,
        start: Begin | None = None,
    ) -> Stream:
        """Read a topic as a stream: each record is an independent event.

        Args:
            topic: the topic's name, or the names of several topics with the same columns, which are
                merged.
            pattern: instead of a name, a regular expression, `"orders-.*"`: all topics whose whole
                name matches when the application starts are read as one stream; `topic()`
                distinguishes them. A topic created later is included at the next start, from its
                first record; a topic that is deleted ends the application.
            value: columns of the value: `"dest STRING, dep_delay BIGINT"`, a dict `{"dest": str,
                "dep_delay": int}`, or a dataclass. A single type, `str`, is one column called
                `value`. With the formats AVRO, JSON_SR and PROTOBUF, any class that `schema_of`
                accepts: the schema of the class is registered at the start.
            key: columns of the key, in the same forms. None: keys are not read, and are null.
            key_format: by default `KAFKA`, or `JSON` if the key has several columns.
            value_format: by default `JSON`, or `KAFKA` if the value is a single type.
            windowed: the windows of its keys, `tumbling("1 hour")`, if the topic contains results
                of windows: the key columns are `key`, `window_start` and `window_end`.
            timestamp: the record's timestamp, if not its own: a column or expression, BIGINT
                milliseconds or TIMESTAMP, or `wall_clock()`. `row_time()` is its own. Or a function
                whose parameters are columns, `def at(made_at: str) -> int`.
            invalid_timestamp: the handling of a record whose timestamp is null, negative or after
                the year 294246: `fail`, `skip`, or `partition_time`, the latest timestamp before it
                in its partition. None: the setting `default.timestamp.extractor`, else the same as
                for records that cannot be read.
            start: the start position at the application's first start: "earliest" (the default),
                "latest", a duration before the start ("2 hours", a timedelta), or a time (a
                datetime, its text, or milliseconds since 1970), which means the first record in
                each partition with that timestamp or a later one. The checkpoint stores the
                position, and later starts continue after the last record read.

        Raises:
            StatementError: the columns cannot be parsed, or do not fit the format.
        """
        of_topic = _topic_form(key, value, key_format, value_format, windowed)
        times = source_times(of_topic[0], timestamp, invalid_timestamp)

        begin = start_of(start)
        topics = read_topics(topic, pattern)

        def source_of(one: str) -> StreamSource:
            source = partial(
                StreamSource,
                topic=one,
                schema=of_topic[0],
                key_format=of_topic[1],
                value_format=of_topic[2],
                times=times,
                start=begin,
                is_pattern=pattern is not None,
            )
            return self._builder.add("stream", source)

        sources = [source_of(one) for one in topics]
        node = sources[0] if len(sources) == 1 else merged(self._builder, sources)
        return Stream(self._builder, node)

    def table(
        self,
        topic: str,
        *,
        key: Declared,
        value: Declared,
        key_format: str | Format | None = None,
        value_format: str | Format | None = None,
        windowed: Windows | WindowedKey | None = None,
        store: str | None = None,
        ttl: Duration | None = None,
        timestamp: str | Expr | Function | None = None,
        invalid_timestamp: Invalid | None = None,
        history: Duration | None = None,
        start: Begin | None = None,
    ) -> Table:
        """Read a topic as a table: each record is the new row of its key.

        A record with a null value deletes the row; a record with a null key is ignored.

        Args:
            topic: the topic's name.
            key: columns of the key, as for `stream`.
            value: columns of the value, as for `stream`.
            key_format: by default `KAFKA`, or `JSON` if the key has several columns.
            value_format: by default `JSON`, or `KAFKA` if the value is a single type.
            windowed: as for `stream`. Rows stay until they are deleted, regardless of the age of
                their window.
            store: the name of the store of the rows.
            ttl: the lifetime of a row that is not updated, `"7 days"`, by the timestamps of the
                table's records. Rows expire silently, without a change. None: until it is deleted.
            timestamp: as for `stream`. A deletion for which it is null has its own timestamp.
            invalid_timestamp: as for `stream`.
            history: makes the table versioned: the time for which earlier versions of rows are
                stored. Streams that look it up find the row at their records' time, even if it
                arrived out of order. Records that are later than that are dropped and counted.
                Versions are stored on disk; a lookup reads the versions that are newer than the
                record.
            start: as for `stream`. Rows that were written before it are not in the table.

        Raises:
            StatementError: the columns cannot be parsed, or do not fit the format.
        """
        of_topic = _topic_form(key, value, key_format, value_format, windowed)
        times = source_times(of_topic[0], timestamp, invalid_timestamp)
        ttl_ms = None if ttl is None else milliseconds(ttl, "ttl")
        kept_ms = None if history is None else milliseconds(history, "history")
        kept = ttl_ms, kept_ms, start_of(start)
        return Table(
            self._builder,
            self._builder.add(
                "table",
                lambda name: TableSource(
                    name, topic, *of_topic, store or f"{name}-store", times, *kept
                ),
            ),
        )

    def global_table(
        self,
        topic: str,
        *,
        key: Declared,
        value: Declared,
        key_format: str | None = None,
        value_format: str | None = None,
        store: str | None = None,
    ) -> GlobalTable:
        """Read a topic as a table of which every task has all rows, for look-ups by any key.

        The rows that the topic contains at a start are loaded before any stream is read. Later rows
        reach every task as they arrive. Each task of a join with it stores all rows on disk, so the
        disk must have room for several copies.

        Args:
            topic: the topic's name; the topology must not read it in another way.
            key: columns of the key, as for `stream`.
            value: columns of the value, as for `stream`.
            key_format: as for `table`.
            value_format: as for `table`.
            store: the name of the stores of the rows.

        Raises:
            StatementError: the columns cannot be parsed, or do not fit the format.

        Example:
            >>> from duolog import Topology, col
            >>> shop = Topology("shop")
            >>> rates = shop.global_table("rates", key="currency STRING", value="rate DOUBLE")
            >>> orders = shop.stream("orders", key="id BIGINT", value="paid STRING, amount DOUBLE")
            >>> print(orders.join(rates, on=col("paid").upper()).schema)
            key (id BIGINT) value (paid STRING, amount DOUBLE, rate DOUBLE)
        """
        of_topic = _topic_form(key, value, key_format, value_format)
        return GlobalTable(
            self._builder,
            self._builder.add(
                "global-table",
                lambda name: GlobalTableSource(name, topic, *of_topic, store or f"{name}-store"),
            ),
        )

    def build(self) -> Plan:
        """Return the plan: everything that the topology writes, and the nodes upstream of it.

        Raises:
            StatementError: nothing is written, or two stores have the same name.
        """
        return self._builder.build()

    @property
    def running(self) -> Running | None:
        """The application in this process that runs the topology, if any. It registers itself."""
        return self._builder.running

    @running.setter
    def running(self, application: Running | None) -> None:
        self._builder.running = application

    def describe(self, form: Literal["duolog", "kafka-streams"] = "duolog") -> str:
        """Return the topology as text: its levels, sub-topologies, stores and edges.

        Args:
            form: `duolog`, or `kafka-streams` for the form of Kafka Streams' `Topology.describe()`,
                with repartition topics, but with Duolog's names.
        """
        if form == "kafka-streams":
            return describe_as_streams(self.build())
        return f"Topology: {self.name}\n{describe(find_levels(self.build()))}"

    def __repr__(self) -> str:
        return f"<Topology {self.name}>"


def _windowed(schema: Schema, windows: Windows | WindowedKey | None) -> Schema:
    """Return a schema whose key ends with the bounds of windows, if there are any."""
    if windows is None:
        return schema
    if not isinstance(windows, Windows | WindowedKey) or not schema.key:
        raise InvalidPlan(
            "a windowed key has no columns before its window"
            if isinstance(windows, Windows | WindowedKey)
            else f"{windows!r} are not windows",
            hint='Write key="place STRING", windowed=tumbling("1 hour").',
        )
    of_key = windows if isinstance(windows, WindowedKey) else windows.key
    return Schema(schema.key + BOUNDS, schema.value, of_key)


def _format(given: str | Format | None, otherwise: Format) -> Format:
    if isinstance(given, Format):
        return given
    return Format(given.upper()) if given else otherwise


def _topic_form(
    key: Declared | None,
    value: Declared,
    key_format: str | Format | None,
    value_format: str | Format | None,
    windowed: Windows | WindowedKey | None = None,
) -> tuple[Schema, Format, Format]:
    """Return the columns of a topic, and the formats of its key and value."""
    keys, key_form = _typed(key, key_format)
    values, value_form = _typed(value, value_format)
    schema = _windowed(declared_schema(keys, values), windowed)
    value_default = JSON if has_names(value) else internal_key_format(schema.value)
    return (
        schema,
        _format(key_form, internal_key_format(schema.inner_key)),
        _format(value_form, value_default),
    )


DeclaredT = TypeVar("DeclaredT", bound=Declared | None)


def _typed(
    declared: DeclaredT, form: str | Format | None
) -> tuple[DeclaredT | tuple[Column, ...], str | Format | None]:
    """Return the columns and the format of a class in a format with schemas; others unchanged."""
    if form is None:
        return declared, form
    return class_columns(declared, _format(form, JSON)) or (declared, form)
