"""What a session knows by name: streams, tables, types, and which queries make them."""

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
    """The name of the header that it is, of role HEADER."""

    def __str__(self) -> str:
        suffix = " KEY" if self.role == "KEY" else ""
        return f"`{self.name}` {sql_name(self.type)}{suffix}"


@dataclass(frozen=True, slots=True)
class SqlFormat:
    """A format of keys or of values, with its properties, and whether a single column stands in an object."""

    name: str
    properties: tuple[tuple[str, str], ...] = ()
    wrap: bool | None = None
    """Of a value with one column: what WRAP_SINGLE_VALUE said; None where it said nothing."""


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """The kind of window that is in the keys of a source; `size_ms` is None for sessions, and windows of the calendar."""

    kind: WindowKind
    size_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """The column that the timestamps of records are taken from, and the pattern of a text."""

    name: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A stream or a table over a topic; a stream may be over several, or over all that match a pattern."""

    name: str
    kind: SourceKind
    columns: tuple[SqlColumn, ...]
    topic: str
    """The first of its topics; or with `is_pattern` the regular expression that their names match."""
    key_format: SqlFormat
    value_format: SqlFormat
    window: SourceWindow | None = None
    timestamp: TimestampColumn | None = None
    read_only: bool = False
    query: str = ""
    """The query that made it; empty where it was declared over a topic."""
    statement: str = ""
    ttl_ms: int | None = None
    """How long a row of a table lives that is not updated; None: until it is deleted."""
    more_topics: tuple[str, ...] = ()
    is_pattern: bool = False
    is_global: bool = False
    """Of a table: whether each task of a join with a stream has it whole."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of its topics, or the pattern that they match."""
        return (self.topic, *self.more_topics)

    @property
    def topics_told(self) -> str:
        """Its topics as a statement names them."""
        return ",".join(self.topics)

    @property
    def is_of_one_topic(self) -> bool:
        return not (self.more_topics or self.is_pattern)

    def topics_among(self, there: Iterable[str]) -> tuple[str, ...]:
        """Return which of the topics that are there it reads; those of a system match no pattern."""
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
    """Sources and types by name. A copy can be tried and thrown away."""

    sources: dict[str, SourceInfo] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    """How many partitions topics have that are known."""
    functions: dict[str, UserFunction] = field(default_factory=dict)
    """Functions of users', in Python."""

    def copy(self) -> "Catalog":
        return replace(
            self,
            sources=dict(self.sources),
            types=dict(self.types),
            partitions=dict(self.partitions),
            functions=dict(self.functions),
        )
