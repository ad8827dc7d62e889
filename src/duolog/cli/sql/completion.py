r"""Complete statements, names and columns on Tab.

SHOW |                   STREAMS, TABLES, …
FROM |  DESCRIBE |       streams and tables
f.|                      columns of the source with alias f
SELECT |                 columns, functions, keywords
\output |                output formats
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from duolog.cli.sql.answer_formats import FORMS
from duolog.cli.sql.engine_opening import Known
from duolog.cli.sql.statements import ends_of
from duolog.cli.sql.words import BESIDE, CLAUSES, PROPERTIES, SHOWN, STATEMENTS

OWN: Final = ("\\output", "\\timing", "\\h", "\\q")
_LAST: Final = re.compile(r"[\w$]*\Z")
_QUALIFIED: Final = re.compile(r"([\w$]+|`[^`]+`)\.[\w$]*\Z")
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'?|`[^`]*`?|\"[^\"]*\"?|[\w$]+|[^\s\w]")
_SOURCE_BEHIND: Final = frozenset({"FROM", "JOIN", "INTO", "DESCRIBE", "STREAM", "TABLE", "EXISTS"})
_QUERY_BEHIND: Final = frozenset({"EXPLAIN", "TERMINATE", "PAUSE", "RESUME"})
_IN_FROM: Final = re.compile(
    r"\b(?:FROM|JOIN|INTO)\s+([\w$]+|`[^`]+`)(?:\s+(?:AS\s+)?([A-Za-z_]\w*))?", re.IGNORECASE
)


class SqlCompleter(Completer):
    """Completes statements with the existing names that `known` returns."""

    def __init__(self, known: Callable[[], Known]) -> None:
        self._known = known

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        del complete_event
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            yield from _own(before.lstrip())
            return
        begun = before[([0, *ends_of(before)])[-1] :]
        whole = document.text[len(before) - len(begun) :]
        last = _LAST.search(begun)
        typed = last[0] if last else ""
        offered = offers(begun, whole, self._known())
        for text in dict.fromkeys(offered):
            if text.upper().startswith(typed.upper()) and text.upper() != typed.upper():
                lower = typed.islower() and not text.startswith("`")
                yield Completion(text.lower() if lower else text, -len(typed))


def offers(begun: str, whole: str, known: Known) -> Iterable[str]:
    """Return the words that can follow in a statement.

    Args:
        begun: the statement up to the cursor.
        whole: the whole statement, including the text after the cursor.
        known: the existing names.
    """
    if qualified := _QUALIFIED.search(begun):
        return _columns(qualified[1].strip("`"), whole, known)
    tokens = [token.upper() for token in _TOKEN.findall(begun)]
    if begun and (begun[-1].isalnum() or begun[-1] in "_$"):
        tokens = tokens[:-1]
    begin = " ".join([*tokens, ""]) if tokens else ""
    words = [one[len(begin) :] for one in STATEMENTS if one.startswith(begin)]
    return (*words, *_named(tokens, whole, known)) if tokens else words


def _named(tokens: Sequence[str], whole: str, known: Known) -> Iterable[str]:
    """Return the names that can follow the words of an incomplete statement."""
    before = tokens[-1]
    if before in _QUERY_BEHIND:
        return (*known.queries, "ALL")
    if before == "FUNCTION":
        return known.functions
    if before in _SOURCE_BEHIND and (tokens[0] != "CREATE" or before in {"FROM", "JOIN"}):
        return map(_quoted, known.columns)
    if len(tokens) == 1 and before in {"SHOW", "LIST"}:
        return SHOWN
    if before in {"(", ","} and "WITH" in tokens[:-1]:
        return PROPERTIES
    read = [name.strip("`") for name, _ in _IN_FROM.findall(whole)] or known.columns
    columns = [column for name in read for column in _columns(name, whole, known)]
    return (*columns, *BESIDE, *known.functions, *CLAUSES)


def _columns(name: str, whole: str, known: Known) -> list[str]:
    """Return the columns of a source, given by its name or alias."""
    called = {
        alias.upper(): source.strip("`") for source, alias in _IN_FROM.findall(whole) if alias
    }
    source = called.get(name.upper(), name)
    found = known.columns.get(source) or known.columns.get(source.upper()) or ()
    return [_quoted(column) for column in found]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else f"`{name}`"


def _own(typed: str) -> Iterator[Completion]:
    word, space, rest = typed.partition(" ")
    if not space:
        yield from (Completion(one, -len(word)) for one in OWN if one.startswith(word))
    elif word == "\\output":
        yield from (Completion(one, -len(rest)) for one in FORMS if one.startswith(rest))
