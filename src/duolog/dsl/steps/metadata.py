"""Metadata of records (topic, offset, headers, timestamps) in expressions, and methods to set it.

    stream.with_columns(at=offset(), trace=header("trace").cast(str))
    stream.with_headers(trace=col("id")).without_headers("retry").with_time(col("ordered_at"))

Expressions return the metadata of the source record that caused the current one: for an aggregate's
update, read after `to_stream()`, the record that was aggregated last.

Source: Kafka Streams `ProcessorContext.recordMetadata`, `Record.withHeaders`,
`Record.withTimestamp`.
"""

from typing import Self

from duolog.dsl.expressions.columns import Expr, alone, to_expression
from duolog.dsl.expressions.names import Columns, find_fields
from duolog.dsl.expressions.python_functions import Function, call_with_columns, is_function
from duolog.dsl.steps.records import Records
from duolog.plan.expressions import ColumnRef, Expression, Metadata, WallClock
from duolog.plan.literals import PlainValue
from duolog.plan.nodes import SetHeaders, SetTime, ensure_header_names
from duolog.plan.schema import Schema
from duolog.plan.times import Invalid, SourceTimes


def topic() -> Expr:
    """Return the topic of the source record: STRING."""
    return Expr(Metadata("topic"), "topic")


def partition() -> Expr:
    """Return the partition of the source record: INT."""
    return Expr(Metadata("partition"), "partition")


def offset() -> Expr:
    """Return the offset of the source record in its partition: BIGINT."""
    return Expr(Metadata("offset"), "offset")


def header(name: str) -> Expr:
    """Return the last header of this name as BYTES, or null. For a text use `.cast(str)`."""
    return Expr(Metadata("header", name), name)


def headers() -> Expr:
    """Return all headers in order: ARRAY<STRUCT<key STRING, value BYTES>>."""
    return Expr(Metadata("headers"), "headers")


def wall_clock() -> Expr:
    """Return the time at which a record is read, BIGINT milliseconds, for `timestamp=` only."""
    return Expr(WallClock(), "wall_clock")


def source_times(
    schema: Schema, timestamp: str | Expr | Function | None, invalid: Invalid | None
) -> SourceTimes:
    """Return the timestamps of a source from the user's arguments."""
    if timestamp is None:
        return SourceTimes(None, invalid)
    return SourceTimes(_time(timestamp, schema), invalid)


def _time(time: str | Expr | Function, schema: Schema) -> Expression:
    if is_function(time):
        return call_with_columns(time, schema)
    given = ColumnRef(time) if isinstance(time, str) else to_expression(time)
    return find_fields(given, schema.names)


class WithMetadata(Records):
    """The methods of streams that set headers and timestamps."""

    def with_headers(
        self, headers: Columns | None = None, /, **named_headers: Expr | PlainValue
    ) -> Self:
        """Set headers: bytes, or a text in UTF-8. A header replaces existing ones of its name.

        Args:
            headers: headers whose names are not Python identifiers.
            named_headers: headers by name: expressions or values.

        Example:
            >>> from duolog import Topology, col
            >>> orders = Topology("shop").stream("orders", key="id STRING", value="user STRING")
            >>> print(orders.with_headers(user=col("user"), source="shop").node.action)
            headers user, source = 'shop'
        """
        given = {**(headers or {}), **named_headers}
        known = self.schema.names
        written = tuple((name, find_fields(alone(of), known)) for name, of in given.items())
        ensure_header_names(tuple(given))
        return self._then("with-headers", lambda name: SetHeaders(name, self.node, written))

    def without_headers(self, *names: str) -> Self:
        """Remove the headers of these names; without names, all."""
        ensure_header_names(names)
        return self._then(
            "without-headers",
            lambda name: SetHeaders(name, self.node, removed=names, clears=not names),
        )

    def with_time(self, time: str | Expr | Function) -> Self:
        """Set the timestamp of each record: BIGINT milliseconds, or a TIMESTAMP.

        A record whose new timestamp is null or negative cannot be processed.

        Args:
            time: a column or an expression, or a function whose parameters are columns.
        """
        expression = _time(time, self.schema)
        return self._then("with-time", lambda name: SetTime(name, self.node, expression))
