r"""Complete statements, names and columns on Tab; `duolog.ksql.editor.completion` has the rules.

\output |                the shell's own commands and output formats
"""

from collections.abc import Callable, Iterator
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from duolog.cli.sql.answer_formats import FORMS
from duolog.ksql.editor.completion import completion
from duolog.ksql.editor.vocabulary import Vocabulary

OWN: Final = ("\\output", "\\timing", "\\h", "\\q")


class SqlCompleter(Completer):
    """Completes statements with the existing names that `known` returns."""

    def __init__(self, known: Callable[[], Vocabulary]) -> None:
        self._known = known

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        del complete_event
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            yield from _own(before.lstrip())
            return
        found = completion(document.text, len(before), self._known())
        typed = before[found.start :]
        for text in dict.fromkeys(one.text for one in found.candidates):
            # A terminal shows only continuations of the typed word.
            if text.upper().startswith(typed.upper()):
                yield Completion(text, -len(typed))


def _own(typed: str) -> Iterator[Completion]:
    word, space, rest = typed.partition(" ")
    if not space:
        yield from (Completion(one, -len(word)) for one in OWN if one.startswith(word))
    elif word == "\\output":
        yield from (Completion(one, -len(rest)) for one in FORMS if one.startswith(rest))
