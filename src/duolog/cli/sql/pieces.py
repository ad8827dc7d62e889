"""A text of statements in its pieces, with nothing lost: words, signs, literals, and the comments around each.

A comment on a line of its own belongs to the piece behind it, one at the end of a line to the piece before.
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
    """A word, a name, a sign or a literal; a word that is no name is written in capitals."""

    kind: Kind
    text: str
    start: int
    before: list[str] = field(default_factory=list)
    """Comments on lines of their own above it; above a statement an empty line is one too."""
    behind: list[str] = field(default_factory=list)
    """Comments behind it, up to the end of its line."""
    blank: bool = False
    """Whether an empty line stands above it, and above its comments."""

    @property
    def word(self) -> str:
        """The word in capitals; empty for what is no word."""
        return self.text.upper() if self.kind == "word" else ""


def pieces_of(text: str) -> tuple[list[Piece], list[str]]:
    """Return the pieces of a text, and the comments behind the last of them."""
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
    """Yield the pieces of each statement, with its ; at the end."""
    statement: list[Piece] = []
    for piece in pieces:
        statement.append(piece)
        if piece.text == ";":
            yield statement
            statement = []
    if statement:
        yield statement


def mark_names(pieces: Iterable[Piece], text: str) -> None:
    """Mark which words are names: of streams, columns, aliases. All others are words of the language.

    Raises:
        SqlError: the text has another form.
    """
    # Imported here: loading the parser takes a while.
    from sqlglot import exp  # noqa: PLC0415

    from duolog.ksql.syntax.script import parse  # noqa: PLC0415

    # A variable stands for a name, as far as the parser is concerned.
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
    """Return a comment without what would make it longer each time it is moved."""
    return "\n".join(line.rstrip() for line in comment.splitlines())
