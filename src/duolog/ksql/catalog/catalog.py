"""The catalog: streams, tables, types and functions by name, and the queries that write them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from duolog.ksql.syntax.types import sql_name
from duolog.plan.sql.user_functions import UserFunction
from duolog.plan.types import Type

SourceKind = Literal["STREAM", "TABLE"]
Role = Literal["KEY", "VALUE", "HEADERS", "HEADER"]
WindowKind = Literal["TUMBLING", "HOPPING", "SESSION"]


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a source."""

    name: str
    type: Type
    role: Role = "VALUE"
    header: str = ""
    """Name of the header, if the role is HEADER."""

    def __str__(self) -> str:
        suffix = " KEY" if self.role == "KEY" else ""
        return f"`{self.name}` {sql_name(self.type)}{suffix}"


@dataclass(frozen=True, slots=True)
class Registered:
    """The schema registry that a format uses, and the schema to write with.

    `schema_id` is None for a topic that no statement writes.
    """

    address: str
    schema_id: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class SqlFormat:
    """A key or value format with its properties."""

    name: str
    properties: tuple[tuple[str, str], ...] = ()
    wrap: bool | None = None
    """WRAP_SINGLE_VALUE of a value with one column, or None if it is not given."""
    registered: Registered | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """Kind of window in the keys of a source.

    `size_ms` is None for sessions and calendar windows.
    """

    kind: WindowKind
    size_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """Column from which record timestamps are taken; `pattern` parses it if it is a STRING."""

    name: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A stream or table over a topic.

    A stream may read several topics, or all that match a pattern.
    """

    name: str
    kind: SourceKind
    columns: tuple[SqlColumn, ...]
    topic: str
    """The first topic or, if `is_pattern` is set, the regular expression for topic names."""
    key_format: SqlFormat
    value_format: SqlFormat
    window: SourceWindow | None = None
    timestamp: TimestampColumn | None = None
    read_only: bool = False
    query: str = ""
    """Id of the query that writes it; empty for a source declared over an existing topic."""
    statement: str = ""
    ttl_ms: int | None = None
    """Time after which a table row that was not updated is removed; None: never."""
    more_topics: tuple[str, ...] = ()
    is_pattern: bool = False
    is_global: bool = False
    """True for a GLOBAL table: each task of a stream-table join has a full copy."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics, or the pattern that they match."""
        return (self.topic, *self.more_topics)

    @property
    def topic_names(self) -> str:
        """The topics, written as in KAFKA_TOPIC."""
        return ",".join(self.topics)

    @property
    def is_of_one_topic(self) -> bool:
        return not (self.more_topics or self.is_pattern)

    def topics_among(self, there: Iterable[str]) -> tuple[str, ...]:
        """Return the existing topics that the source reads.

        Patterns do not match internal topics.
        """
        if not self.is_pattern:
            known = set(there)
            return tuple(topic for topic in self.topics if topic in known)
        names = (name for name in sorted(there) if not name.startswith("__"))
        return tuple(name for name in names if re.fullmatch(self.topic, name))

    @property
    def key(self) -> tuple[SqlColumn, ...]:
        return tuple(column for column in self.columns if column.role == "KEY")

    @property
    def value(self) -> tuple[SqlColumn, ...]:
        return tuple(column for column in self.columns if column.role == "VALUE")

    @property
    def headers(self) -> tuple[SqlColumn, ...]:
        return tuple(column for column in self.columns if column.role in {"HEADERS", "HEADER"})

    @property
    def is_table(self) -> bool:
        return self.kind == "TABLE"


@dataclass
class Catalog:
    """Sources, types and functions by name. A copy can be changed and discarded."""

    sources: dict[str, SourceInfo] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    """Number of partitions of each known topic."""
    functions: dict[str, UserFunction] = field(default_factory=dict)
    """User-defined functions, in Python."""

    def copy(self) -> "Catalog":
        return replace(
            self,
            sources=dict(self.sources),
            types=dict(self.types),
            partitions=dict(self.partitions),
            functions=dict(self.functions),
        )
