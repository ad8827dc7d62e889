"""Texts of several statements: where each begins and ends, and what ${…} stands for in them."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from duolog.ksql.errors import Place, SqlError, syntax_error, too_deep
from duolog.ksql.syntax.dialect import Ksql
from duolog.ksql.syntax.types import type_from
from duolog.plan.types import Type

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PARTS: Final = re.compile(
    r"'(?:[^']|'')*+'" r'|"[^"]*"|`[^`]*`' r"|--[^\n]*|/\*.*?\*/|;|.", re.DOTALL
)
"""What a text is made of: literals, quoted names and comments, in which a ; ends nothing."""

_CLOSING: Final = {
    "'": ("'", "text"),
    '"': ('"', "name"),
    "`": ("`", "name"),
    "/*": ("*/", "comment"),
}
"""How what is opened is closed again, and what it is."""

_MORE: Final = "Invalid expression / Unexpected token"
"""What sqlglot says of what it does not read."""

TEXT: Final = "text"
"""Where the node of a statement keeps, in its `meta`, how it is written."""


def parse(text: str) -> list[exp.Expression]:
    """Return the statements of a text.

    Raises:
        SqlError: it has another form; the place is in it.
    """
    try:
        return [node for node in Ksql().parse(text) if isinstance(node, exp.Expression)]
    except RecursionError as error:
        raise too_deep(text.strip()) from error
    except TokenError as error:
        raise _unread(text, error) from error
    except ParseError as error:
        told = error.errors[0]
        at = _place_of_token(text, told["line"], told["col"], told["highlight"] or " ")
        # Of what stands behind a whole statement ksqlDB says no more than where it begins.
        what = "" if told["description"] == _MORE else told["description"]
        raise syntax_error(at, what, text.strip()) from error


def _unread(text: str, error: TokenError) -> SqlError:
    """Return the error of a text that has no tokens, mostly because something in it is never closed."""
    for part in _PARTS.finditer(text):
        start = part.start()
        opening = "/*" if text.startswith("/*", start) else part.group()
        if len(part.group()) == 1 and opening in _CLOSING:
            closing, name = _CLOSING[opening]
            what = f"Expecting {closing} to close the {name}, found the end"
            return syntax_error(_place(text, start), what, text.strip())
    return syntax_error(_place(text, 0), str(error.__cause__ or error), text.strip())


def _place_of_token(text: str, line: int, column: int, token: str) -> Place:
    """Return where a token begins; sqlglot says where it ends, on a later line if it has several."""
    if "\n" not in token:
        return Place(line, column - len(token) + 1, 0, 0)
    before = sum(len(each) for each in text.split("\n")[: line - 1]) + line - 1
    return _place(text, before + column - len(token))


def _place(text: str, start: int) -> Place:
    line = text.count("\n", 0, start) + 1
    return Place(line, start - text.rfind("\n", 0, start), start, start + 1)


@lru_cache(1000)
def type_written(text: str) -> Type:
    """Return the type that a text says, as `sql_name` writes it.

    Example:
        >>> print(type_written("ARRAY<INTEGER>"))
        ARRAY<INT>
    """
    (made,) = parse(f"CREATE TYPE t AS {text};")
    return type_from(made.args["kind"], {})


def uses_variables(text: str) -> bool:
    """Tell if ${…} stands in a text, so that its statements are read one by one.

    Example:
        >>> uses_variables("SELECT ${column} FROM s;")
        True
    """
    return _VARIABLE.search(text) is not None


def pieces(text: str) -> Iterator[str]:
    """Yield the statements of a text as texts, each behind as many empty lines as stand before it.

    Example:
        >>> [piece.strip() for piece in pieces("DEFINE a = 'x;y'; SHOW STREAMS;")]
        ["DEFINE a = 'x;y';", 'SHOW STREAMS;']
    """
    start = 0
    for part in _PARTS.finditer(text):
        if part.group() == ";":
            yield _in_place(text, start, part.end())
            start = part.end()
    if text[start:].strip():
        yield _in_place(text, start, len(text))


def is_blank(text: str) -> bool:
    r"""Tell if a text has no statement in it: only comments and a ;.

    Example:
        >>> is_blank("  -- nothing\n;")
        True
    """
    parts = (part.group() for part in _PARTS.finditer(text))
    return not any(
        part.strip() and part != ";" and not part.startswith(("--", "/*")) for part in parts
    )


def text_of(node: exp.Expression) -> str:
    """Return how the statement of a node is written; empty where it is not known."""
    return str(node.meta.get(TEXT, ""))


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with what its variables stand for; one that is not defined stays as it is.

    Example:
        >>> substituted("SELECT * FROM ${name};", {"NAME": "flights"})
        'SELECT * FROM flights;'
    """
    return _VARIABLE.sub(lambda found: variables.get(found[1].upper(), found[0]), text)


def _in_place(text: str, start: int, end: int) -> str:
    before = text[:start]
    line, _, column = before.rpartition("\n")
    return (
        "\n" * before.count("\n")
        + " " * len(column if line or "\n" in before else before)
        + text[start:end]
    )
