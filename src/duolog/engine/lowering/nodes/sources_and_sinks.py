"""Sources, sinks and print: convert the bytes of a topic to columns, and columns to bytes.

A topic that one topology uses as a stream and as a table is read once, because two readers would
progress at different rates.
"""

from duolog.engine.json_object import Json
from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.engine.lowering.formats.decoded import FALSE, Decoded, Part
from duolog.engine.lowering.formats.formats import (
    decode,
    decode_key,
    encode,
    encode_key,
    or_nulls_only,
)
from duolog.engine.lowering.formats.schema_formats import inherited_frames
from duolog.engine.lowering.nodes.metadata import lower_time
from duolog.engine.lowering.nodes.partitions import lower_partition
from duolog.engine.lowering.nodes.required import needed_values
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spark_sql.sql import spark_types, text
from duolog.engine.lowering.spec.operators import HeadersOperator, PrintOperator, SinkOperator
from duolog.plan.expressions import Scope
from duolog.plan.formats import JSON
from duolog.plan.nodes import ForEach, Print, Sink, Source
from duolog.plan.types import Column, render_columns


def lower_source(source: Source, source_id: int, around: Surroundings) -> tuple[Json, Row]:
    """Return the kernel's source, without children, and the row that leaves it.

    Every column is decoded, so that corruption of any column is detected; only the columns that are
    needed downstream are in the row.
    """
    schema = source.schema
    columns = needed_values(source, around.required)
    key = decode_key(source.key_format, schema, first=0)
    value = decode(source.value_format, schema.value, "value", first=len(key.parsed))
    read = dict(zip(schema.value, value.columns, strict=True))
    described: Json = {
        "id": source_id,
        "topic": source.topic,
        "table": source.is_table,
        "parse": {"columns": key.parsed + value.parsed},
        "corrupt": _problem(source, key, value),
        "key_null": or_nulls_only(source.key_format, key.is_null, key.columns),
        "value_null": value.is_null,
        "keys": key.columns,
        "values": [read[column] for column in columns],
        "key_types": spark_types(schema.key),
        "value_types": spark_types(columns),
        "children": [],
    }
    described |= _timestamps(source, key, value)
    return described, Row.of(schema.key, columns, changes=False)


def _timestamps(source: Source, key: Decoded, value: Decoded) -> Json:
    """Return the timestamp fields of the kernel's source, if the source specifies any."""
    told: Json = {}
    if source.times.of is not None:
        schema = source.schema
        parsed = zip(schema.columns, key.columns + value.columns, strict=True)
        scope = Scope(schema.columns, of_record=True, of_source=True)
        naming = Names(scope, {column.name: at for column, at in parsed}, {}, {})
        time = lower_time(source.times.of, naming)
        told["timestamp"] = f"CASE WHEN ({value.is_null}) THEN coalesce({time}, ts) ELSE {time} END"
    if source.times.invalid is not None:
        told["invalid_timestamp"] = source.times.invalid
    return told


def _problem(source: Source, key: Decoded, value: Decoded) -> str:
    """Return the expression of the decoding error of a record, null if there is none."""
    parts = (
        ("key", key, source.key_format, source.schema.key),
        ("value", value, source.value_format, source.schema.value),
    )
    arms = []
    for what, part, of, columns in parts:
        if part.corrupt != FALSE:
            problem = text(f"its {what} is not {of.name} of ({render_columns(columns)})")
            if part.why:
                problem = f"concat_ws({text(': ')}, {problem}, {part.why})"
            arms.append(f"WHEN {part.corrupt} THEN {problem}")
    return f"CASE {' '.join(arms)} END" if arms else "NULL"


def lower_sink(sink: Sink, row: Row, around: Surroundings) -> Lowered:
    """Return the kernel's sink: for a table, new rows and tombstones are written."""
    schema = sink.schema
    keys = [row.names[column.name] for column in schema.key]
    values = [row.names[column.name] for column in schema.value]
    entry = row.entry(
        sink.name,
        SinkOperator(
            sink=around.levels.sinks.index(sink),
            key_bytes=encode_key(sink.key_format, schema, keys),
            value_bytes=encode(sink.value_format, schema.value, values, "value"),
            topic=_chosen_topic(sink, row),
            partition=lower_partition(sink.partitioner, sink, row, schema, around),
        ),
    )
    frames = inherited_frames(sink.key_format, sink.value_format)
    if not frames:
        return Lowered([entry])
    removal = HeadersOperator(clears=False, removed=frames, written=[], values=[])
    return Lowered([row.entry(f"{sink.name}-HEADERS", removal), entry])


def _chosen_topic(sink: Sink, row: Row) -> str | None:
    """Return the expression of the topic that a record chooses; fails for a topic not created."""
    if sink.topic_of is None:
        return None
    chosen = lower_expression(sink.topic_of, row.naming(sink.schema))
    known = ", ".join(map(text, sink.topics))
    told = text(f" is none of the topics of {sink.name}: {', '.join(sink.topics)}")
    problem = f"concat('topic \"', coalesce({chosen}, 'null'), '\"', {told})"
    return f"CASE WHEN {chosen} IN ({known}) THEN {chosen} ELSE raise_error({problem}) END"


def lower_print(node: Print, row: Row, _around: Surroundings) -> Lowered:
    """Return the kernel's node that prints records as JSON."""
    entry = row.entry(
        node.name,
        PrintOperator(
            label=node.label,
            limit=node.limit,
            key_text=json_text(node.schema.key, row, "key"),
            value_text=json_text(node.schema.value, row, "value"),
        ),
    )
    return Lowered([entry])


def lower_for_each(node: ForEach, row: Row, around: Surroundings) -> Lowered:
    """Return the kernel's sink that passes records to a function, as JSON of their columns."""
    plan = around.levels.plan
    key, value = (
        encode(JSON, columns, [row.names[column.name] for column in columns], "value")
        if columns
        else f"CAST({text('{}')} AS BINARY)"
        for columns in (node.schema.key, node.schema.value)
    )
    operator = SinkOperator(
        sink=len(plan.sinks) + plan.calls.index(node),
        key_bytes=key,
        value_bytes=value,
        topic=None,
        partition=None,
    )
    return Lowered([row.entry(node.name, operator)])


def json_text(columns: tuple[Column, ...], row: Row, part: Part) -> str:
    """Return the expression of these columns of a row as JSON."""
    if not columns:
        return f"CAST({text('{}')} AS BINARY)"
    return encode(JSON, columns, [row.names[column.name] for column in columns], part)
