"""Split statements into words, signs and literals, each with its comments, without losing any text.

A comment on its own line belongs to the following piece, a comment at the end of a line to the
previous one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal["word", "name", "sign", "literal"]

_PIECE: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<literal>'(?:[^']|'')*'|(?<![\w$])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w$]))
      | (?P<name>`[^`]*`|"[^"]*"|\$\{\w+\})
      | (?P<word>[\w$@]+)
      | (?P<sign>->|=>|:=|\|\||<>|!=|<=|>=|.)""",
    re.DOTALL | re.VERBOSE,
)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


@dataclass(slots=True)
class Piece:
    """A word, name, sign or literal. Words that are not names are keywords, in capitals."""

    kind: Kind
    text: str
    start: int
    before: list[str] = field(default_factory=list)
    """Comments on lines before it; before a statement, an empty line counts as a comment."""
    behind: list[str] = field(default_factory=list)
    """Comments after it on the same line."""
    blank: bool = False
    """Whether an empty line precedes it and its comments."""

    @property
    def word(self) -> str:
        """The word in capitals; empty if the piece is not a word."""
        return self.text.upper() if self.kind == "word" else ""


def pieces_of(text: str) -> tuple[list[Piece], list[str]]:
    """Return the pieces of a text, and the comments after the last one."""
    found: list[Piece] = []
    waiting: list[str] = []
    fresh, blank, apart = True, False, False
    for part in _PIECE.finditer(text):
        kind, written = part.lastgroup, part[0]
        if kind == "space":
            fresh = fresh or "\n" in written
            apart = written.count("\n") > 1
            blank = blank or (apart and not waiting)
            continue
        if apart and waiting and (not found or found[-1].text == ";"):
            waiting.append("")
        apart = False
        if kind == "comment":
            if fresh or not found:
                waiting.append(_even(written))
            else:
                found[-1].behind.append(written.rstrip())
        else:
            assert kind in {"word", "name", "sign", "literal"}
            found.append(Piece(kind, written, part.start(), waiting, [], blank))  # type: ignore[arg-type]
            waiting, fresh, blank = [], False, False
    return found, waiting


def statements_of(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces of each statement, including its final `;`."""
    statement: list[Piece] = []
    for piece in pieces:
        statement.append(piece)
        if piece.text == ";":
            yield statement
            statement = []
    if statement:
        yield statement


def mark_names(pieces: Iterable[Piece], text: str) -> None:
    """Mark the words that are names of streams, columns or aliases; all others are keywords.

    Raises:
        SqlError: the text cannot be parsed.
    """
    # Imported late: the parser is slow to load.
    from sqlglot import exp  # noqa: PLC0415

    from duolog.ksql.syntax.script import parse  # noqa: PLC0415

    # Replace variables by names for the parser.
    plain = _VARIABLE.sub(lambda found: f"V_{found[1]}_", text)
    places = {
        identifier.meta["start"]
        for node in parse(plain)
        for identifier in node.find_all(exp.Identifier)
        if "start" in identifier.meta
    }
    for piece in pieces:
        if piece.kind == "word" and piece.start in places:
            piece.kind = "name"


def _even(comment: str) -> str:
    """Return a comment without trailing white space, which would grow with each formatting."""
    return "\n".join(line.rstrip() for line in comment.splitlines())
