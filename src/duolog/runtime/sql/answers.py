"""What a statement answers: a sentence, or rows with the names and types of their columns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Message:
    """What a statement has done, said to a person."""

    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that come one after the other; a context manager that ends what makes them.

    `columns` are names with the texts of their types (`BIGINT`, `ARRAY<STRING>`), in the order of each row. Values are
    those of `duolog.serde.row`. `unbounded` rows come until `close`, or until the LIMIT of their query.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Iterator[tuple[object, ...]]
    unbounded: bool = False
    title: str = ""
    """What the rows are, where a statement answers with several tables of them."""
    query_id: str = ""
    """What ksqlDB calls the query, where the rows go on."""
    why_none: Callable[[], str] = lambda: ""
    """Says why there were no rows, if that is known; asked after the last one."""

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
        """End what makes the rows; does nothing where they have ended."""
        close = getattr(self.rows, "close", None)
        if close is not None:
            close()


Answer = Message | Rows
