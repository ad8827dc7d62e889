"""Processors of users, in Python, as a plan knows them: what makes one, what goes in and out, what is kept.

    KeptStore("counts", "key-value", key, value)                 a store that processors name
    Definition(CountVisits, schema, (Output("", schema),), …)    what a step of a topology calls

How a processor is called, and what its stores do, is said by `duolog.functions.processors`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from duolog.core.units import MINUTE_MS
from duolog.core.windowed_key import WindowedKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.python_functions import code_of
from duolog.plan.schema import BOUNDS, Schema
from duolog.plan.types import Column, Struct, map_in, render_columns

StoreKind = Literal["key-value", "window", "session", "versioned"]

_SEGMENTS: Final = 2
"""Into how many parts the time is cut for which rows are kept, as in Kafka Streams."""


@dataclass(frozen=True, slots=True)
class KeptStore:
    """A store of processors. Two steps that name an equal one share it."""

    name: str
    kind: StoreKind
    key: tuple[Column, ...]
    value: tuple[Column, ...]
    retention_ms: int = 0
    """Of windows and sessions: how long one is found behind the latest; of versions: how long an old one is."""
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
                f'store "{self.name}" would keep nothing',
                detail=f"It keeps for {self.retention_ms} ms, and its windows are of {self.window_ms} ms.",
                hint="Give a longer retention.",
            )

    @property
    def segment_ms(self) -> int:
        """The span of time whose rows go together. Source: Kafka Streams `Stores.defaultSegmentInterval`."""
        return max(self.retention_ms // _SEGMENTS, MINUTE_MS)

    @property
    def schema(self) -> Schema:
        """The columns of its rows as people see them: a window's, or a session's, bounds end the key."""
        if self.kind == "window":
            return Schema((*self.key, *BOUNDS), self.value, WindowedKey(size_ms=self.window_ms))
        if self.kind == "session":
            return Schema((*self.key, *BOUNDS), self.value, WindowedKey())
        return Schema(self.key, self.value)

    def __str__(self) -> str:
        """What is bound by a checkpoint: its rows must be read as they were written."""
        return f"{self.kind} ({render_columns(self.key)}) -> ({render_columns(self.value)})"


@dataclass(frozen=True, slots=True)
class Output:
    """A child of a processor, by its name, and the columns of the records that go there."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Definition:
    """A processor: what makes one for each task, and all that it works with."""

    make: Callable[[], Any]
    input: Schema
    outputs: tuple[Output, ...]
    stores: tuple[KeptStore, ...]
    fixed_key: bool
    """Whether records leave under the key that they came with."""
    node: str = ""
    """The step that has it: two steps are two, even if they say the same."""

    @property
    def called(self) -> str:
        """What the processor is called."""
        made = self._made
        return getattr(made, "__qualname__", type(made).__name__).rpartition("<locals>.")[2]

    @property
    def place(self) -> str:
        """The file and line where it is written, `shop.py:12`; empty where nobody knows."""
        return _written_at(self._made)

    @property
    def _made(self) -> Any:
        return inspect.unwrap(getattr(self.make, "func", self.make))


def _written_at(of: Any) -> str:
    if not isinstance(of, type):
        code = code_of(of)
        return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}" if code else ""
    try:
        _, line = inspect.getsourcelines(of)
        return f"{(inspect.getsourcefile(of) or '').rpartition('/')[2]}:{line}"
    except (OSError, TypeError):
        # Of a prompt, say.
        return ""


def struct_of(columns: tuple[Column, ...]) -> Struct:
    """Return columns as one type."""
    return Struct(columns)
