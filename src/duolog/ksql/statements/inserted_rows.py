"""Plan the row of an INSERT … VALUES, so that its expressions are evaluated like those of queries.

one record of a virtual topic ─▶ key ─▶ columns ─▶ headers ─▶ timestamp ─▶ sink
"""

from typing import Final

from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.planning.steps import Steps
from duolog.ksql.statements.state import InsertedRow
from duolog.plan.expressions import Expression, Literal
from duolog.plan.formats import Format
from duolog.plan.nodes import (
    Node,
    Plan,
    Project,
    Rename,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    StreamSource,
)
from duolog.plan.nodes.plan import plan_of
from duolog.plan.schema import Schema
from duolog.plan.types import BOOLEAN, Column, Type

TRIGGER_TOPIC: Final = "__row"
"""Virtual topic of the record that triggers the write."""
TRIGGER_VALUE: Final = b'{"TRIGGER":true}'


def plan_of_row(row: InsertedRow) -> Plan:
    """Return the plan that writes a row.

    Its default timestamp is that of the record in `TRIGGER_TOPIC`.
    """
    source, given, steps = row.source, dict(row.values), Steps()

    def of(name: str, kind: Type) -> Expression:
        return given.get(name, Literal(None, kind))

    schema = Schema((), (Column("TRIGGER", BOOLEAN),))
    node: Node = steps.add(
        "stream",
        lambda name: StreamSource(name, TRIGGER_TOPIC, schema, Format("NONE"), Format("JSON")),
    )
    # Evaluators ignore case in names, so columns are numbered until the end.
    keys = tuple((f"k{at}", of(one.name, one.type)) for at, one in enumerate(source.key))
    if keys:
        read = node
        node = steps.add("select-key", lambda name: SelectKey(name, read, keys))
    values = tuple((f"v{at}", of(one.name, one.type)) for at, one in enumerate(source.value))
    keyed = node
    node = steps.add("project", lambda name: Project(name, keyed, values))
    node = _named(node, row, steps)
    if headers := row.headers:
        bare = node
        node = steps.add("headers", lambda name: SetHeaders(name, bare, headers))
    if (time := row.timestamp) is not None:
        untimed = node
        node = steps.add("time", lambda name: SetTime(name, untimed, time))
    key_format = plan_format(source.key_format) if source.key else Format("NONE")
    written = node
    sink = steps.add(
        "sink",
        lambda name: Sink(
            name, written, source.topic, key_format, plan_format(source.value_format)
        ),
    )
    return plan_of(sink)


def _named(node: Node, row: InsertedRow, steps: Steps) -> Node:
    keys = tuple(column.name for column in row.source.key)
    values = tuple(column.name for column in row.source.value)
    return steps.add("names", lambda name: Rename(name, node, keys, values))
