"""Users' processors in Python, as declared in a plan: constructor, input, outputs and stores.

    KeptStore("counts", "key-value", key, value)                 a store that processors name
    Definition(CountVisits, schema, (Output("", schema),), …)    the processor of a step

`duolog.functions.processors` calls processors and implements their stores.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from duolog.core.units import MINUTE_MS
from duolog.core.windowed_key import WindowedKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.python_functions import code_of
from duolog.plan.schema import BOUNDS, Schema
from duolog.plan.types import Column, Struct, map_in, render_columns

StoreKind = Literal["key-value", "window", "session", "versioned"]

_SEGMENTS: Final = 2
"""The number of segments into which the retention is divided, as in Kafka Streams."""


@dataclass(frozen=True, slots=True)
class KeptStore:
    """A store of processors. Two steps that declare an equal store share it."""

    name: str
    kind: StoreKind
    key: tuple[Column, ...]
    value: tuple[Column, ...]
    retention_ms: int = 0
    """The time for which windows and sessions, or old versions, can be found."""
    window_ms: int = 0
    timestamped: bool = False

    def __post_init__(self) -> None:
        for what, columns in (("key", self.key), ("value", self.value)):
            if not columns:
                raise InvalidPlan(f'store "{self.name}" has no columns for its {what}')
        for column in self.key:
            if map_in(column.type):
                raise InvalidPlan(
                    f'column "{column.name}" cannot be a key of store "{self.name}"',
                    detail=f"It is a {column.type}, whose entries have no order.",
                )
        if self.kind != "key-value" and self.retention_ms < max(1, self.window_ms):
            raise InvalidPlan(
                f'store "{self.name}" would store nothing',
                detail=f"Its retention is {self.retention_ms} ms, its windows have "
                f"{self.window_ms} ms.",
                hint="Use a longer retention.",
            )

    @property
    def segment_ms(self) -> int:
        """The span of a segment, whose rows expire together.

        Source: Kafka Streams `Stores.defaultSegmentInterval`.
        """
        return max(self.retention_ms // _SEGMENTS, MINUTE_MS)

    @property
    def schema(self) -> Schema:
        """The columns of its rows, as users see them: the key ends with the window's bounds."""
        if self.kind == "window":
            return Schema((*self.key, *BOUNDS), self.value, WindowedKey(size_ms=self.window_ms))
        if self.kind == "session":
            return Schema((*self.key, *BOUNDS), self.value, WindowedKey())
        return Schema(self.key, self.value)

    def __str__(self) -> str:
        """The text that a checkpoint records: a later start must read the rows in the same way."""
        return f"{self.kind} ({render_columns(self.key)}) -> ({render_columns(self.value)})"


@dataclass(frozen=True, slots=True)
class Output:
    """A child of a processor by name, and the columns of the records that are forwarded to it."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Definition:
    """A processor: the function that creates its instances, its input, outputs and stores."""

    make: Callable[[], object]
    input: Schema
    outputs: tuple[Output, ...]
    stores: tuple[KeptStore, ...]
    fixed_key: bool
    """True if records keep the key with which they arrived."""
    node: str = ""
    """The step that it belongs to: equal definitions of two steps are distinct."""

    @property
    def called(self) -> str:
        """The name of the processor."""
        made = self._made
        return getattr(made, "__qualname__", type(made).__name__).rpartition("<locals>.")[2]

    @property
    def place(self) -> str:
        """The file and line of its definition, `shop.py:12`; empty if unknown."""
        return _written_at(self._made)

    @property
    def _made(self) -> object:
        return inspect.unwrap(getattr(self.make, "func", self.make))


def _written_at(of: object) -> str:
    if not isinstance(of, type):
        code = code_of(of)
        return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}" if code else ""
    try:
        _, line = inspect.getsourcelines(of)
        return f"{(inspect.getsourcefile(of) or '').rpartition('/')[2]}:{line}"
    except (OSError, TypeError):
        # Defined in an interactive session, for example.
        return ""


def struct_of(columns: tuple[Column, ...]) -> Struct:
    """Return the columns as fields of one STRUCT."""
    return Struct(columns)
