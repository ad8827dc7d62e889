"""Texts that are typed in a terminal: lines that can be edited, until a ; has come; with history and completion."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from duolog.cli.sql.completion import SqlCompleter
from duolog.cli.sql.engine_opening import Known
from duolog.cli.sql.statements import is_blank, is_whole

PROMPT: Final = "sql> "
_MORE: Final = "...> "
_ALONE: Final = frozenset({"exit", "quit", "help"})


class Terminal:
    """Reads texts from a terminal.

    Args:
        directory: where the history is kept; it is made.
        known: what there is by name, for completion.
    """

    def __init__(self, directory: Path, known: Callable[[], Known]) -> None:
        session: PromptSession[str] = PromptSession(
            history=_history(directory),
            completer=SqlCompleter(known),
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            multiline=Condition(lambda: not is_ready(session.default_buffer.text)),
            prompt_continuation=_continued,
            enable_history_search=True,
        )
        self._session = session

    def texts(self) -> Iterator[str]:
        """Yield texts until Ctrl-D; Ctrl-C throws away what is being typed."""
        while True:
            try:
                yield self._session.prompt(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return


def is_ready(text: str) -> bool:
    r"""Tell if what is typed can be run when Enter comes.

    Example:
        >>> [is_ready(text) for text in ("", "\\h", "exit", "SHOW STREAMS;", "SHOW STREAMS")]
        [True, True, True, True, False]
    """
    stripped = text.strip()
    own = stripped.startswith("\\") or stripped.lower() in _ALONE
    return own or is_blank(text) or is_whole(text)


def _continued(width: int, line: int, wraps: int) -> str:
    """Return what stands before a line that goes on: one that is only too long for the terminal has none of its own."""
    del width, line
    return " " * len(_MORE) if wraps else _MORE


def _history(directory: Path) -> History:
    path = directory / "history"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Texts may hold what is nobody else's business.
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
