"""Sources and sinks: the nodes that read and write topics."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, Scope, column_names, type_of
from duolog.plan.formats import Format
from duolog.plan.nodes.end import End
from duolog.plan.nodes.expiry import ensure_ttl
from duolog.plan.nodes.node import Node, ensure_key, ensure_partition, ensure_time, scope_of
from duolog.plan.schema import Schema
from duolog.plan.starts import EARLIEST, Start
from duolog.plan.times import OWN_TIMES, SourceTimes
from duolog.plan.types import STRING, quote, render_columns

FOR_EVER: Final = -1
"""An unlimited retention, as in Kafka."""


class _Topic(Node):
    """The base of sources and sinks: a topic and its formats."""

    topic: str
    key_format: Format
    value_format: Format

    def __post_init__(self) -> None:
        ensure_key(self.schema)
        self.key_format.check(self.schema.inner_key, f'key of "{self.topic}"')
        self.value_format.check(self.schema.value, f'value of "{self.topic}"')

    @property
    def topic_columns(self) -> str:
        return (
            f"key {self.key_format} ({render_columns(self.schema.key)}){self._windowed} "
            f"value {self.value_format} ({render_columns(self.schema.value)})"
        )

    @property
    def _windowed(self) -> str:
        return "" if self.schema.window is None else " windowed"


class Source(_Topic):
    """A node that reads a topic."""

    times: SourceTimes
    start: Start = EARLIEST
    is_pattern: bool = False
    """True if `topic` is a regular expression: every topic whose whole name matches is read."""

    def reads_topic(self, topic: str) -> bool:
        """Return True if it reads this topic."""
        return (
            re.fullmatch(self.topic, topic) is not None if self.is_pattern else self.topic == topic
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.times.of is not None:
            scope = Scope(self.schema.columns, of_record=True, of_source=True)
            ensure_time(self.times.of, scope)


@dataclass(frozen=True, eq=False)
class StreamSource(Source):
    """A stream: each record of a topic is an independent event."""

    name: str
    topic: str
    schema: Schema
    key_format: Format
    value_format: Format
    times: SourceTimes = OWN_TIMES
    start: Start = EARLIEST
    is_pattern: bool = False
    is_table: ClassVar[bool] = False

    @property
    def action(self) -> str:
        what = "topics that match" if self.is_pattern else "topic"
        return f"stream of {what} {self.topic}, {self.topic_columns}{self.times}{self.start}"


@dataclass(frozen=True, eq=False)
class TableSource(Source):
    """A table: each record of a topic is the new row of its key; a null value deletes it.

    Records with a null key are ignored. `store` holds the rows. With `history_ms` the table is
    versioned: it stores earlier versions of rows for that long, by the timestamps of records.
    """

    name: str
    topic: str
    schema: Schema
    key_format: Format
    value_format: Format
    store: str
    times: SourceTimes = OWN_TIMES
    ttl_ms: int | None = None
    """The lifetime of a row that is not updated; None: until it is deleted."""
    history_ms: int | None = None
    start: Start = EARLIEST
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.

    def __post_init__(self) -> None:
        if self.history_ms is not None and self.history_ms < 1:
            raise InvalidPlan(
                f'table "{self.topic}" has a history that is not positive',
                hint='Use a longer one, history="1 day", or remove it.',
            )
        if not self.schema.key:
            raise InvalidPlan(f'table "{self.topic}" has no key', hint='Declare one: key="...".')
        ensure_ttl(self.ttl_ms)
        if self.history_ms is not None and self.ttl_ms is not None:
            raise InvalidPlan(
                f'table "{self.topic}" cannot have a history and a ttl',
                detail="The latest row of a versioned table stays until it is deleted.",
            )
        super().__post_init__()

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def expiry(self) -> str:
        or_old = f", or it was not updated for {self.ttl_ms} ms" if self.ttl_ms else ""
        versions = (
            "" if self.history_ms is None else f"; what it was before for {self.history_ms} ms"
        )
        return f"a row for each key until a null value deletes it{or_old}{versions}"

    @property
    def action(self) -> str:
        versions = "" if self.history_ms is None else f", versions of {self.history_ms} ms"
        details = f"{self.topic_columns}{versions}{self.times}{self.start}"
        return f"table of topic {self.topic}, {details}"


@dataclass(frozen=True, eq=False)
class Sink(_Topic, End):
    """Writes records to a topic: for a table the new rows, or null for a deleted row.

    `partitions` and `retention_ms` are used to create the topic. None creates as many partitions as
    there are tasks, and keeps all rows of a table. For a windowed table, `retention_ms` is added to
    the windows' own retention.
    """

    name: str
    parent: Node
    topic: str
    """The topic of all records; if `topic_of` chooses one of `among`, the first of these."""
    key_format: Format
    value_format: Format
    partitions: int | None = None
    retention_ms: int | None = None
    topic_of: Expression | None = None
    among: tuple[str, ...] = ()
    loop: bool = False
    """True if the topic may feed itself."""
    partitioner: Expression | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitioner is not None:
            ensure_partition(self.partitioner, self.parent)
        if self.retention_ms not in {None, FOR_EVER} and self.is_table and not self.schema.window:
            raise InvalidPlan(
                f'the rows of table "{self.parent}" do not expire by age',
                detail="Its topic is compacted and keeps the latest row of each key.",
                hint="Remove retention=, or write the table's changes: to_stream().",
            )
        if self.topic_of is not None:
            self._ensure_names_a_topic(self.topic_of)

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics that it may write to."""
        return self.among or (self.topic,)

    @property
    def action(self) -> str:
        to = f"to topic {self.topic}"
        if self.topic_of is not None:
            to = f"to the topic named {self.topic_of}, of {', '.join(self.topics)}"
        by = f", partition {self.partitioner}" if self.partitioner else ""
        return f"{to}, {self.topic_columns}{by}"

    def _ensure_names_a_topic(self, topic_of: Expression) -> None:
        found = type_of(topic_of, scope_of(self.parent))
        if found != STRING:
            raise TypeMismatch(f"{topic_of} is not the name of a topic", detail=f"It is {found}.")
        read = sorted(column_names(topic_of) - {column.name for column in self.schema.key})
        if self.is_table and read:
            raise InvalidPlan(
                f'the topic of a row of table "{self.parent}" cannot be chosen by {quote(read[0])}',
                detail="A deleted row has no value, so the topic of its deletion would be unknown.",
                hint="Choose by columns of the key, or write the changes: to_stream().",
            )
