"""Write the SQL statements that declare the topics of a topology.

    table of topic by-city, key KAFKA (city STRING)
      ─▶  CREATE OR REPLACE TABLE BY_CITY (`city` STRING PRIMARY KEY, …) WITH (KAFKA_TOPIC = …)

Columns keep their names, in backquotes unless they are upper case, so that INSERT writes what the
topology reads. The bytes are the topology's too: if its JSON differs from ksqlDB's (times and dates
are strings), the statement says so.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from duolog.core.errors import StatementError
from duolog.ksql.catalog.properties import DELIMITERS
from duolog.ksql.syntax.formatting import quoted_name
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import ColumnRef
from duolog.plan.formats import BARE, DELIMITER, SINGLE, Format
from duolog.plan.nodes import AggregateNode, Node, Sink
from duolog.plan.nodes.expiry import ttl_of
from duolog.plan.nodes.topics import Source
from duolog.plan.types import DATE, TIMESTAMP, Column, parts_of
from duolog.plan.windows.calendar_windows import CalendarWindows

_TEXTS: Final = (TIMESTAMP, DATE)
"""Types that are strings in the JSON of topologies and numbers in ksqlDB's."""
_NO_WORD: Final = re.compile(r"\W")


def name_of(topic: str) -> str:
    """Return the default SQL name of a topic.

    Example:
        >>> name_of("flights-by-airline")
        'FLIGHTS_BY_AIRLINE'
    """
    return _NO_WORD.sub("_", topic).upper()


def declaration(node: Source | Sink, topic: str, name: str) -> str:
    """Return the statement that declares a topic of a topology as a stream or table.

    Args:
        node: the node that reads or writes the topic.
        topic: the topic; a sink may write several.
        name: the name of the stream or table in the catalog.

    Raises:
        StatementError: the timestamps of its records cannot be expressed in a statement.
    """
    kind = "TABLE" if node.is_table else "STREAM"
    mark = " PRIMARY KEY" if node.is_table else " KEY"
    schema = node.schema
    columns = [f"{_typed(column)}{mark}" for column in schema.inner_key]
    columns += [_typed(column) for column in schema.value]
    given = ", ".join(f"{key} = {value}" for key, value in _properties(node, topic))
    return f"CREATE OR REPLACE {kind} {quoted_name(name)} ({', '.join(columns)}) WITH ({given});"


def _typed(column: Column) -> str:
    return f"{quoted_name(column.name)} {sql_name(column.type)}"


def _properties(node: Source | Sink, topic: str) -> Iterator[tuple[str, str]]:
    schema = node.schema
    yield "KAFKA_TOPIC", _literal(topic)
    if schema.inner_key:
        yield from _format("KEY", node.key_format, schema.inner_key)
    yield from _format("VALUE", node.value_format, schema.value)
    if node.value_format.name == "JSON" and len(schema.value) == 1:
        # Always written, because the session may have another default.
        bare = node.value_format.option(SINGLE) == BARE
        yield "WRAP_SINGLE_VALUE", "false" if bare else "true"
    if node.is_table and (ttl_ms := ttl_of(node)) is not None:
        yield "TTL", _literal(f"{ttl_ms} MILLISECONDS")
    if schema.window is not None:
        yield from _window(node, schema.window.size_ms)
    if isinstance(node, Source) and node.times.of is not None:
        if not isinstance(node.times.of, ColumnRef):
            raise StatementError(
                f'topic "{topic}" cannot be declared as a '
                f"{'table' if node.is_table else 'stream'} in SQL",
                detail=f"Its timestamp is the expression {node.times.of}; SQL takes timestamps "
                "from a column only.",
                hint="Pass the topics that SQL should see: names={'orders': 'orders'}.",
            )
        yield "TIMESTAMP", _literal(f"`{node.times.of.name}`")


def _window(node: Node, size_ms: int | None) -> Iterator[tuple[str, str]]:
    """Yield the properties of windowed keys.

    Calendar windows have both bounds in the key, as sessions do.
    """
    calendar = _calendar_of(node)
    if calendar is not None:
        yield "WINDOW_TYPE", _literal("TUMBLING")
        yield "WINDOW_SIZE", _literal(f"1 {calendar.unit.upper()}")
        yield "WINDOW_TIMEZONE", _literal(calendar.zone)
    elif size_ms is None:
        yield "WINDOW_TYPE", _literal("SESSION")
    else:
        yield "WINDOW_TYPE", _literal("TUMBLING")
        yield "WINDOW_SIZE", _literal(f"{size_ms} MILLISECONDS")


def _calendar_of(node: Node) -> CalendarWindows | None:
    """Return the calendar windows of a node's keys, or None.

    For topics that are read they are unknown.
    """
    made = node
    while made.schema.window is not None and made.parents:
        if isinstance(made, AggregateNode):
            return made.windows if isinstance(made.windows, CalendarWindows) else None
        made = made.parents[0]
    return None


def _format(part: str, of: Format, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    yield f"{part}_FORMAT", _literal(of.name)
    if (delimiter := of.option(DELIMITER)) is not None:
        words = {sign: word for word, sign in DELIMITERS.items()}
        yield f"{part}_DELIMITER", _literal(words.get(delimiter, delimiter))
    if of.name == "JSON" and not of.is_ksqldb:
        kinds = {kind for column in columns for kind in parts_of(column.type)}
        if kinds & set(_TEXTS):
            yield f"{part}_DIALECT", _literal("DUOLOG")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
