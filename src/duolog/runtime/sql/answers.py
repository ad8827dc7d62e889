"""Results of statements: a message, or rows with names and types of their columns."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition, the offset of the first record that is not included."""


@dataclass(frozen=True, slots=True)
class Message:
    """Description of what a statement has done."""

    text: str


class DeletedRow(tuple[object, ...]):
    """A row of a push query that reports a deletion: the key as far as it is selected, and nulls.

    Only code that reports deletions need know it; for all other code it is a row.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Freshness:
    """The records that an answer includes.

    `age_ms` is the time since the latest moment for which all committed records are known to be
    included; None if that was never known.
    """

    offsets: Offsets
    age_ms: float | None

    def __str__(self) -> str:
        return offsets_text(self.offsets)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a result; a context manager that stops their source.

    `columns` are names with type names (`BIGINT`, `ARRAY<STRING>`), in row order. Values are those
    of `duolog.serde.row`. If `unbounded`, rows arrive until `close`, or until the LIMIT of the
    query.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Iterator[tuple[object, ...]]
    unbounded: bool = False
    title: str = ""
    """Title of the rows, for statements with several tables as their result."""
    query_id: str = ""
    """ksqlDB's id of a push query."""
    freshness: Freshness | None = None
    """The records that the rows of a pull query include."""
    why_none: Callable[[], str] = lambda: ""
    """Returns the reason why there were no rows, if known; called after the last row."""

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return self.rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the source of the rows. Does nothing if it has ended."""
        close = getattr(self.rows, "close", None)
        if close is not None:
            close()


Answer = Message | Rows


def offsets_text(offsets: Offsets) -> str:
    """Write offsets, sorted by topic and partition.

    Example:
        >>> offsets_text({"totals": {1: 4, 0: 17}})
        'totals-0=17,totals-1=4'
    """
    return ",".join(
        f"{topic}-{partition}={offset}"
        for topic, of_topic in sorted(offsets.items())
        for partition, offset in sorted(of_topic.items())
    )
