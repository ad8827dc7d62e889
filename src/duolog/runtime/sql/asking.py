"""Run SQL from Python: `duolog.sql("SELECT …")` returns rows, a frame or an Arrow table.

    duolog.sql("SELECT carrier, AVG(delay) AS delay FROM flights GROUP BY carrier").to_pandas()
    for row in duolog.sql("SELECT * FROM alerts EMIT CHANGES"):
        ...

The engine of a broker and a service stays open with the rows that it has read, until the process
ends.
"""

import atexit
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from duolog.core.counts import counted
from duolog.core.errors import ConfigError
from duolog.dsl.handles.html import table_html
from duolog.ksql.syntax.script import type_written
from duolog.plan.types import Column
from duolog.runtime.data_dirs import default_data_dir
from duolog.runtime.frames import Framed
from duolog.runtime.sql.answers import Answer, Message, Rows
from duolog.runtime.sql.engine import DEFAULT_SERVICE, SqlEngine
from duolog.runtime.sql.reply.readable import readable
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import brokers_of
from duolog.serde.row import Row

BOOTSTRAP: Final = "127.0.0.1:9092"
_SHOWN_MAX: Final = 20

_engines: dict[tuple[Brokers, str, str], SqlEngine] = {}
_opening: Final = threading.Lock()


class Result(Framed):
    """Result of a statement: rows or a message; a context manager that stops unbounded rows."""

    def __init__(self, answer: Answer) -> None:
        self._rows = answer if isinstance(answer, Rows) else None
        self._kept: list[Row] | None = None
        self.message = answer.text if isinstance(answer, Message) else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Row]:
        """Yield rows as they arrive; rows of a bounded query can be read again."""
        if self._rows is None:
            return iter(())
        return self._rows.rows if self._rows.unbounded else iter(self.rows())

    def __repr__(self) -> str:
        if self._rows is None:
            return self.message
        return f"<rows of {', '.join(name for name, _ in self._rows.columns)}>"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the rows, with types of the plan."""
        given = self._rows.columns if self._rows is not None else ()
        return tuple(Column(name, type_written(text)) for name, text in given)

    def rows(self) -> list[Row]:
        """Return all rows as tuples; of an unbounded query, as many as its LIMIT.

        Raises:
            ConfigError: the query is unbounded and has no LIMIT; iterate over its rows instead.
        """
        if self._rows is None:
            return []
        if self._kept is None:
            self._ensure_ends()
            with self._rows:
                self._kept = list(self._rows.rows)
        return self._kept

    def to_html(self) -> str:
        """Return HTML for a notebook."""
        if self._rows is None:
            return table_html(["message"], [(self.message,)], "")
        if self._rows.unbounded:
            return table_html([column.name for column in self.columns], [], "unbounded rows")
        rows = self.rows()
        more = f", the first {_SHOWN_MAX} shown" if len(rows) > _SHOWN_MAX else ""
        names = [column.name for column in self.columns]
        first = list(readable(iter(rows[:_SHOWN_MAX]), self._rows.columns))
        return table_html(names, first, f"{counted(len(rows), 'row')}{more}")

    _repr_html_ = to_html

    def close(self) -> None:
        """Stop the source of the rows. Does nothing if it has ended."""
        if self._rows is not None:
            self._rows.close()

    def _ensure_ends(self) -> None:
        rows = self._rows.rows if self._rows is not None else None
        if isinstance(rows, PushedRows) and not rows.limited:
            raise ConfigError(
                "the rows of this query do not end",
                hint="Add LIMIT, or iterate over them: for row in duolog.sql(…).",
            )


def sql(
    text: str,
    *,
    bootstrap: Brokers | str = BOOTSTRAP,
    data: Path | str | None = None,
    service_id: str = DEFAULT_SERVICE,
    properties: Mapping[str, str] | None = None,
) -> Result:
    """Run statements, and return the result of the last one.

    Args:
        text: one or more statements; the last `;` is optional.
        bootstrap: the broker.
        data: directory for the state of persistent queries, by default that of `duolog sql`.
        service_id: selects the catalog.
        properties: properties for these statements, as with SET.

    Raises:
        SqlError: a statement cannot be parsed or executed. The statements before it have run.
        BrokerUnavailable: no broker answers.

    Example:
        duolog.sql("SELECT * FROM totals WHERE id = 'a'").to_dicts()
    """
    directory = str(Path(data or default_data_dir("sql")).resolve())
    engine = _engine(brokers_of(bootstrap), directory, service_id)
    written = text if text.rstrip().endswith(";") else f"{text};"
    settings = engine.session.state.settings
    before = dict(settings.given)
    settings.given.update(properties or {})
    last: Answer = Message("")
    try:
        for answer in engine.execute(written):
            if isinstance(last, Rows):
                last.close()
            last = answer
    finally:
        settings.given.clear()
        settings.given.update(before)
    return Result(last)


def _engine(bootstrap: Brokers, data: str, service_id: str) -> SqlEngine:
    """Return this process's engine for a broker and a service."""
    wanted = (bootstrap, data, service_id)
    with _opening:
        if wanted not in _engines:
            if not _engines:
                atexit.register(_close_all)
            _engines[wanted] = SqlEngine(bootstrap, data=data, service_id=service_id)
        return _engines[wanted]


def _close_all() -> None:
    with _opening:
        while _engines:
            _engines.popitem()[1].close()
