"""Read statements from a terminal, with line editing, history and completion."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from duolog.cli.sql.completion import SqlCompleter
from duolog.ksql.editor.statement_ends import is_blank, is_whole
from duolog.ksql.editor.vocabulary import Vocabulary

PROMPT: Final = "sql> "
_MORE: Final = "...> "
_ALONE: Final = frozenset({"exit", "quit", "help"})


class Terminal:
    """Reads texts from a terminal.

    Args:
        directory: directory of the history file; created if missing.
        known: returns the existing names, for completion.
    """

    def __init__(self, directory: Path, known: Callable[[], Vocabulary]) -> None:
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
        """Yield texts until Ctrl-D; Ctrl-C discards the current input."""
        while True:
            try:
                yield self._session.prompt(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return


def is_ready(text: str) -> bool:
    r"""Return whether Enter runs the input; otherwise it continues on the next line.

    Example:
        >>> [is_ready(text) for text in ("", "\\h", "exit", "SHOW STREAMS;", "SHOW STREAMS")]
        [True, True, True, True, False]
    """
    stripped = text.strip()
    own = stripped.startswith("\\") or stripped.lower() in _ALONE
    return own or is_blank(text) or is_whole(text)


def _continued(width: int, line: int, wraps: int) -> str:
    """Return the prompt of a continuation line; a line wrapped by the terminal has none."""
    del width, line
    return " " * len(_MORE) if wraps else _MORE


def _history(directory: Path) -> History:
    path = directory / "history"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Statements may contain confidential data.
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
