"""Open the engine of a shell in the background while the first prompt is shown."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from duolog.ksql.editor.vocabulary import Vocabulary

if TYPE_CHECKING:
    from duolog.runtime.sql.engine import SqlEngine


NOTHING: Final = Vocabulary()


class EngineOpening:
    """An engine that is opened once and closed at the end.

    `begin` opens it in a background thread, so that the prompt appears at once. No other thread
    uses it until `engine` has waited for that thread.
    """

    def __init__(self, opened: Callable[[], "SqlEngine"]) -> None:
        self._open = opened
        self._engine: SqlEngine | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

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
        """Close the engine; do nothing if it is closed."""
        if self._thread is not None:
            self._thread.join()
        if self._engine is not None:
            self._engine.close()

    def end_now(self) -> None:
        """Make `close` stop the queries without waiting for them to finish cleanly. Thread-safe."""
        if (engine := self._engine) is not None:
            engine.end_now()

    def begin(self) -> None:
        """Start opening the engine."""
        self._thread = threading.Thread(target=self._try, name="sql engine", daemon=True)
        self._thread.start()

    def engine(self) -> "SqlEngine":
        """Return the engine, waiting until it is open.

        Raises:
            DuologError: the engine cannot be opened. The next call tries again.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    def known(self) -> Vocabulary:
        """Return the existing names; empty while the engine is being opened."""
        engine = self._engine
        if engine is None:
            return NOTHING
        # Loads the functions, which the first prompt need not wait for.
        from duolog.ksql.editor.catalog_vocabulary import vocabulary_of  # noqa: PLC0415

        return vocabulary_of(replace(engine.session.state, catalog=engine.catalog))

    def names(self) -> set[str]:
        """Return all names in one set: streams, tables, columns, functions."""
        known = self.known()
        columns = {one.name for source in known.sources.values() for one in source.columns}
        return {*known.sources, *columns, *(one.name for one in known.functions)}

    @property
    def runs_queries(self) -> bool:
        """True if persistent queries run in this process."""
        return self._engine is not None and self._engine.runs_queries

    def _try(self) -> None:
        from duolog.runtime.sql.errors import ServiceInUse  # noqa: PLC0415 - imported in the background thread

        try:
            self._engine = engine = self._open()
            # An interactive shell runs the queries, unless another process does.
            with suppress(ServiceInUse):
                engine.start()
        except BaseException as error:  # noqa: BLE001 - raised again by `engine`
            self._error = error
