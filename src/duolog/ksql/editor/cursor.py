"""The statement around the cursor: its tokens up to there, and the sources that it names.

    SELECT f.na|  FROM flights f;     tokens SELECT f . , typed "na", sources f → FLIGHTS

Works on statements that are not complete, in time linear in their length, and without the parser.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from duolog.ksql.editor.statement_ends import ends_of
from duolog.ksql.editor.words import KEYWORDS

_TOKEN: Final = re.compile(
    r"(?P<comment>--[^\n]*+\n?|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r"|(?P<literal>'(?:[^']|'')*+'?)"
    r'|(?P<name>`[^`]*+`?|"[^"]*+"?)'
    r"|(?P<word>[\w$]++)"
    r"|(?P<sign>->|=>|:=|[^\s\w])"
)
Kind = Literal["comment", "literal", "name", "word", "sign"]
_KINDS: Final[dict[str | None, Kind]] = {
    "comment": "comment",
    "literal": "literal",
    "name": "name",
    "word": "word",
    "sign": "sign",
}
_CLOSING: Final = {"(": ")", "[": "]"}
_SOURCE_BEFORE: Final = frozenset({"FROM", "JOIN"})


class Token(NamedTuple):
    """A token of a statement, with its place in the text."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The text in upper case; of a quoted name or literal as it is."""
        return self.text.upper() if self.kind in ("word", "sign") else self.text

    @property
    def plain(self) -> str:
        """The name without its quotes."""
        return self.text.strip('`"') if self.kind == "name" else self.text

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "name")

    @property
    def is_open(self) -> bool:
        """True if a literal or quoted name or comment has no end."""
        match self.kind:
            case "literal":
                inner = self.text[1:].replace("''", "")
                return not inner.endswith("'")
            case "name":
                return len(self.text) == 1 or not self.text.endswith(self.text[0])
            case "comment":
                return not self.text.endswith("\n" if self.text.startswith("--") else "*/")
            case _:
                return False


class Named(NamedTuple):
    """A source that a statement names, and its alias as written; empty if there is none."""

    source: str
    alias: str

    @property
    def called(self) -> str:
        """The name of the source in expressions, without quotes."""
        return self.alias.strip('`"') or self.source


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a text.

    Attributes:
        start: of the word that is being typed, in the text.
        typed: the part of the word before the cursor; of a literal or name without its quote.
        within: the kind of the token that is being typed; empty between tokens.
        tokens: the tokens of the statement before that word, without comments.
        sources: what the whole statement names after FROM and JOIN.
    """

    start: int
    typed: str
    within: Kind | Literal[""]
    tokens: tuple[Token, ...]
    sources: tuple[Named, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens as texts, in upper case."""
        return tuple(token.upper for token in self.tokens)

    def opening(self) -> int:
        """Return the index of the innermost open bracket in `tokens`; -1 if there is none."""
        return _opening(self.tokens, len(self.tokens))


def cursor_in(text: str, offset: int) -> Cursor:
    """Return the statement and the word around a place in a text."""
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    start = ([0, *ends_of(before)])[-1]
    rest = text[start:]
    ends = [end for end in ends_of(rest) if start + end > offset]
    whole = rest[: ends[0]] if ends else rest
    tokens = list(_tokens(before[start:], start))
    typed, begin = "", offset
    within: Kind | Literal[""] = ""
    if tokens and tokens[-1].end == offset:
        last = tokens[-1]
        if last.kind == "word":
            typed, begin, within = last.text, last.start, last.kind
        elif last.is_open:
            typed, within = last.text[1:], last.kind
            begin = last.start + (1 if last.kind == "literal" else 0)
        if within:
            tokens.pop()
    kept = tuple(token for token in tokens if token.kind != "comment")
    return Cursor(begin, typed, within, kept, tuple(_named(list(_tokens(whole, 0)))))


def _tokens(text: str, start: int) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        yield Token(
            _KINDS[found.lastgroup], found.group(), start + found.start(), start + found.end()
        )


def _named(tokens: Sequence[Token]) -> Iterator[Named]:
    found = [token for token in tokens if token.kind != "comment"]
    for at, token in enumerate(found[:-1]):
        name = found[at + 1]
        if token.upper not in _SOURCE_BEFORE or not _may_name(name):
            continue
        after = found[at + 2 : at + 4]
        if len(after) > 1 and after[0].upper == "AS":
            after = after[1:]
        alias = after[0].text if after and _may_name(after[0]) else ""
        yield Named(name.plain, alias)


def _may_name(token: Token) -> bool:
    return token.kind == "name" or (token.kind == "word" and token.upper not in KEYWORDS)


def path_before(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the names before a final `->`, as of `f.address->city->`; empty for anything else.

    Subscripts are skipped: `f.legs[1]->` is the path F, LEGS.
    """
    at, path = len(tokens) - 1, []
    while at >= 0 and tokens[at].text in ("->", "."):
        at -= 1
        while at >= 0 and tokens[at].text == "]":
            at = _opening(tokens, at) - 1
        if at < 0 or not tokens[at].is_name:
            return ()
        path.append(tokens[at].plain)
        at -= 1
    return tuple(reversed(path))


def _opening(tokens: Sequence[Token], end: int) -> int:
    """Return the index of the bracket that is open at a token; -1 if none is."""
    depth = 0
    for at in range(end - 1, -1, -1):
        if tokens[at].text in _CLOSING.values():
            depth += 1
        elif tokens[at].text in _CLOSING:
            if depth == 0:
                return at
            depth -= 1
    return -1
