"""Split a text into statements, substitute ${…} variables, and parse it.

A script is parsed to its end before its first statement runs, unless it uses `${…}`: the value of a
variable is known only after the statements before it have run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from duolog.ksql.errors import Place, SqlError, syntax_error, too_deep
from duolog.ksql.syntax.amounts import SUBSTITUTED_MAX
from duolog.ksql.syntax.dialect import Ksql
from duolog.ksql.syntax.types import type_from
from duolog.plan.types import Type

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PARTS: Final = re.compile(
    r"'(?:[^']|'')*+'" r'|"[^"]*"|`[^`]*`' r"|--[^\r\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|;|\s++|.",
    re.DOTALL,
)
"""Parts of a text. A ; in a literal, quoted name or comment does not end a statement.

An unclosed comment is one part: to look for its end again from each of its characters would take
time quadratic in its length.
"""

_CLOSING: Final = {
    "'": ("'", "text"),
    '"': ('"', "name"),
    "`": ("`", "name"),
    "/*": ("*/", "comment"),
}
"""Closing token and name of each part that must be closed."""

_MORE: Final = "Invalid expression / Unexpected token"
"""sqlglot's message for tokens it does not expect."""

TEXT: Final = "text"
"""Key in the `meta` of a statement's node, for the statement's source."""


def parse(text: str) -> list[exp.Expression]:
    """Parse the statements of a text.

    Raises:
        SqlError: the text has a syntax error; the error has its position.
    """
    return [node for node, _ in parsed(text)]


def parsed(text: str) -> list[tuple[exp.Expression, str]]:
    """Parse the statements of a text, and return each with its source.

    A source parses to its own statement again: it ends where the parser has seen the end.

    Raises:
        SqlError: as `parse`.
    """
    dialect = Ksql()
    try:
        tokens = dialect.tokenize(text)
        made = dialect.parser().parse(tokens, text)
    except RecursionError as error:
        raise too_deep(text.strip()) from error
    except TokenError as error:
        raise _unread(text, error) from error
    except ParseError as error:
        first = error.errors[0]
        at = _place_of_token(text, first["line"], first["col"], first["highlight"] or " ")
        # For text after a complete statement, ksqlDB reports only the position.
        what = "" if first["description"] == _MORE else first["description"]
        raise syntax_error(at, what, text.strip()) from error
    found = [node for node in made if isinstance(node, exp.Expression)]
    return list(zip(found, _sources(text, tokens), strict=True))


def _sources(text: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the sources of statements, with their semicolons and the comments before them."""
    start, is_empty = 0, True
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            is_empty = False
            continue
        if not is_empty:
            yield text[start : token.end + 1].strip()
        start, is_empty = token.end + 1, True
    if not is_empty:
        yield text[start:].strip()


def _unread(text: str, error: TokenError) -> SqlError:
    """Return the error of a text without tokens, usually an unclosed quote or comment."""
    for part in _PARTS.finditer(text):
        start, found = part.start(), part.group()
        opening = found[:2] if found.startswith("/*") else found
        is_open = not found.endswith("*/") or len(found) < len("/**/")
        if is_open and opening in _CLOSING:
            closing, name = _CLOSING[opening]
            what = f"Expecting {closing} to close the {name}, found the end"
            return syntax_error(_place(text, start), what, text.strip())
    return syntax_error(_place(text, 0), str(error.__cause__ or error), text.strip())


def _place_of_token(text: str, line: int, column: int, token: str) -> Place:
    """Return the start of a token; sqlglot gives its end, which may be on a later line."""
    if "\n" not in token:
        return Place(line, column - len(token) + 1, 0, 0)
    before = sum(len(each) for each in text.split("\n")[: line - 1]) + line - 1
    return _place(text, before + column - len(token))


def _place(text: str, start: int) -> Place:
    line = text.count("\n", 0, start) + 1
    return Place(line, start - text.rfind("\n", 0, start), start, start + 1)


@lru_cache(1000)
def type_written(text: str) -> Type:
    """Parse a type, written as `sql_name` writes it.

    Example:
        >>> print(type_written("ARRAY<INTEGER>"))
        ARRAY<INT>
    """
    (made,) = parse(f"CREATE TYPE t AS {text};")
    return type_from(made.args["kind"], {})


def uses_variables(text: str) -> bool:
    """Return true if a text contains ${…}, so that its statements must be parsed one by one.

    Example:
        >>> uses_variables("SELECT ${column} FROM s;")
        True
    """
    return _VARIABLE.search(text) is not None


def pieces(text: str) -> Iterator[str]:
    """Yield the source of each statement, padded with blanks so that positions stay the same.

    Example:
        >>> [piece.strip() for piece in pieces("DEFINE a = 'x;y'; SHOW STREAMS;")]
        ["DEFINE a = 'x;y';", 'SHOW STREAMS;']
    """
    for start, end in _spans(text):
        yield _in_place(text, start, end)


class Piece(NamedTuple):
    """A statement of a text, and the number of lines and columns before it."""

    text: str
    lines: int
    columns: int


def placed_pieces(text: str) -> Iterator[Piece]:
    """Yield statements without leading blanks, in time linear in the length of the text.

    Example:
        >>> [(piece.text, piece.lines, piece.columns) for piece in placed_pieces("a; b;c")]
        [('a;', 0, 0), (' b;', 0, 2), ('c', 0, 5)]
    """
    lines, line_start, done = 0, 0, 0
    for start, end in _spans(text):
        newlines = text.count("\n", done, start)
        if newlines:
            lines, line_start = lines + newlines, text.rindex("\n", done, start) + 1
        done = start
        yield Piece(text[start:end], lines, start - line_start)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for part in _PARTS.finditer(text):
        if part.group() == ";":
            yield start, part.end()
            start = part.end()
    if text[start:].strip():
        yield start, len(text)


def is_blank(text: str) -> bool:
    r"""Return true if a text has no statement: only comments and semicolons.

    Example:
        >>> is_blank("  -- nothing\n;")
        True
    """
    parts = (part.group() for part in _PARTS.finditer(text))
    return not any(
        part.strip() and part != ";" and not part.startswith(("--", "/*")) for part in parts
    )


def text_of(node: exp.Expression) -> str:
    """Return the source of a node's statement; empty if it is unknown."""
    return str(node.meta.get(TEXT, ""))


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with variables replaced; undefined variables stay as they are.

    Raises:
        SqlError: the result is longer than `SUBSTITUTED_MAX`, which is found before it is made.

    Example:
        >>> substituted("SELECT * FROM ${name};", {"NAME": "flights"})
        'SELECT * FROM flights;'
    """
    values = ((found[0], variables.get(found[1].upper())) for found in _VARIABLE.finditer(text))
    growth = sum(len(value) - len(name) for name, value in values if value is not None)
    if growth > 0 and len(text) + growth > SUBSTITUTED_MAX:
        raise SqlError(
            f"With its variables, a statement is longer than {SUBSTITUTED_MAX} characters",
            hint="Use shorter values, or fewer variables.",
        )
    return _VARIABLE.sub(lambda found: variables.get(found[1].upper(), found[0]), text)


def _in_place(text: str, start: int, end: int) -> str:
    before = text[:start]
    line, _, column = before.rpartition("\n")
    return (
        "\n" * before.count("\n")
        + " " * len(column if line or "\n" in before else before)
        + text[start:end]
    )
