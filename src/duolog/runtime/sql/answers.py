"""Results of statements: a message, or rows with names and types of their columns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from duolog.runtime.sql.tables.freshness import Freshness


@dataclass(frozen=True, slots=True)
class Message:
    """Description of what a statement has done."""

    text: str


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
    freshness: "Freshness | None" = None
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
