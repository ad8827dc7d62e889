"""Display what a running application has written: current rows, frames, notebook views.

Rows of a table are read from its topic, to which the application commits them. They are those that
any consumer reads, in every mode and from any process.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from duolog.core.counts import counted
from duolog.core.errors import DuologError
from duolog.dsl.handles.html import table_html
from duolog.plan.types import Column
from duolog.runtime import frames
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.follower import CurrentRows, Follower, LastRecords
from duolog.runtime.frames import Frame, Framed, library
from duolog.runtime.topic_values import TopicValues
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

logger: Final = logging.getLogger(__name__)

READ_S: Final = 300.0
GLANCE_S: Final = 2.0
"""Maximal time to read before a notebook shows its output."""
_SHOWN_MAX: Final = 20
T = TypeVar("T")


@dataclass(frozen=True)
class TopicView:
    """The last records of a stream, read from its topic."""

    values: TopicValues
    brokers: Brokers
    keep: Callable[["LiveView"], None]
    """Called with each live view, so that the application can stop it."""

    @property
    def topic(self) -> str:
        return self.values.topic

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.values.key_columns + self.values.value_columns

    def follower(self) -> Follower:
        return LastRecords(self.values, self.brokers, _SHOWN_MAX)

    def to_html(self) -> str:
        """Return HTML for a notebook, with as many records as can be read in two seconds.

        Raises:
            KafkaError: the broker does not answer, or there is no such topic.
        """
        with self.follower() as follower:
            complete = follower.catch_up(GLANCE_S)
            return self.render(follower, "" if complete else ", still reading")

    _repr_html_ = to_html

    def live(self, every_s: float = 1.0) -> "LiveView":
        """Show new records in a notebook until `stop()` of the result is called.

        Raises:
            ConfigError: IPython is not installed.
        """
        return LiveView(self, notebook_output(), every_s).start()

    def render(self, follower: Follower, state: str) -> str:
        """Return the records read so far as an HTML table with a caption."""
        rows, count = follower.shown(_SHOWN_MAX)
        skipped = f", {follower.skipped:,} could not be read" if follower.skipped else ""
        caption = f"{self.topic}: {self._count_text(count)}{skipped}{state}"
        return table_html([column.name for column in self.columns], rows, caption)

    def _count_text(self, count: int) -> str:
        return f"last {counted(count, 'record')}"


@dataclass(frozen=True)
class TableRows(TopicView, Framed):
    """Current rows of a table, read from its topic.

    They are packed as in the tables of SQL; frames are made of some thousand rows at a time.
    """

    def follower(self) -> CurrentRows:
        return CurrentRows(self.values, self.brokers)

    def rows(self) -> list[Row]:
        """Return the committed rows, ordered by key.

        Raises:
            KafkaError, BrokerUnavailable: the broker does not answer, or there is no such topic.
        """
        return self._read(list)

    def to_pandas(self) -> Frame:
        library("pandas", "pandas")
        return self._read(lambda rows: frames.to_pandas(self.columns, rows))

    def to_arrow(self) -> Frame:
        library("pyarrow", "pyarrow")
        return self._read(lambda rows: frames.to_arrow(self.columns, rows))

    def to_polars(self) -> Frame:
        library("polars", "polars")
        return self._read(lambda rows: frames.to_polars(self.columns, rows))

    def _read(self, use: Callable[[Iterator[Row]], T]) -> T:
        """Return what a function makes of the rows; as `rows`."""
        with self.follower() as follower:
            if not follower.catch_up(READ_S):
                raise BrokerUnavailable(
                    f'cannot read topic "{self.topic}" to its end',
                    detail=f"Reading stopped after {READ_S:.0f} s.",
                )
            found = follower.read(use)
            if follower.skipped:
                logger.warning(
                    "%s of topic %s could not be read",
                    counted(follower.skipped, "record"),
                    self.topic,
                )
            return found

    def _count_text(self, count: int) -> str:
        return counted(count, "row") + (
            f", the first {_SHOWN_MAX} shown" if count > _SHOWN_MAX else ""
        )


class LiveView:
    """Updates a view while its topic changes, in a thread of its own.

    Args:
        view: the view.
        show: called with the HTML of each new state.
        every_s: interval between reads of the topic.
    """

    def __init__(self, view: TopicView, show: Callable[[str], None], every_s: float) -> None:
        self._view = view
        self._show = show
        self._every_s = every_s
        self._stopping = threading.Event()
        name = f"duolog-live-{view.topic}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> "LiveView":
        self._view.keep(self)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the updates, keep the output, and return when the reader has stopped."""
        self._stopping.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __repr__(self) -> str:
        state = "running; stop() stops it" if self._thread.is_alive() else "stopped"
        return f"<live view of {self._view.topic}: {state}>"

    def _run(self) -> None:
        follower = self._view.follower()
        try:
            with follower:
                shown = ""
                while not self._stopping.is_set():
                    complete = follower.catch_up(self._every_s)
                    html = self._view.render(follower, "" if complete else ", still reading")
                    if html != shown:
                        self._show(html)
                    shown = html
                    self._stopping.wait(self._every_s)
            self._show(self._view.render(follower, ", stopped"))
        except DuologError as error:
            self._show(self._view.render(follower, f", ended: {error.message}"))


def notebook_output() -> Callable[[str], None]:
    """Return a function that shows HTML below the running cell, replacing its previous output.

    Raises:
        ConfigError: IPython is not installed.
    """
    display = library("IPython.display", "ipython")
    output = display.display(display.HTML(""), display_id=True)
    return lambda html: output.update(display.HTML(html))
