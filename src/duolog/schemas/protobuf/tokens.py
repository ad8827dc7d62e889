"""Tokens of a .proto text, each a piece of the text with its offset; comments are skipped.

The first character shows the kind of a token: a letter or `_` begins a word, a digit or a point
with a digit after it a number, a quote a string; everything else is a symbol of one character.
The last token is empty. All steps are linear in the length of the text.
"""

import re
from dataclasses import dataclass

from duolog.schemas.errors import InvalidSchemaError

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\n\v\f]++ | //[^\n]*+)
    | (?P<comment>/\*)
    | (?P<token>
        [A-Za-z_][A-Za-z0-9_]*+
      | (?:0[xX][0-9a-fA-F]++ | (?:[0-9]++(?:\.[0-9]*+)?+ | \.[0-9]++)(?:[eE][+-]?+[0-9]++)?+[fF]?+)
        (?![A-Za-z0-9_])
      | "[^"\\]*+(?:\\.[^"\\]*+)*+"
      | '[^'\\]*+(?:\\.[^'\\]*+)*+'
      | [{}()\[\]<>;=,:./+-]
      )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SHOWN_MAX = 40


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, and where each of them begins."""

    text: str
    tokens: list[str]
    offsets: list[int]

    def error(self, index: int, expected: str) -> InvalidSchemaError:
        """Return an error that names the place of a token and what it should have been."""
        return _error(self.text, self.offsets[index], expected, self.tokens[index])


def tokenize(text: str) -> Tokens:
    """Return the tokens of a text.

    Raises:
        InvalidSchemaError: the text has a character that begins no token, or an open string or
            comment.
    """
    position = 1 if text.startswith("\ufeff") else 0
    end = len(text)
    tokens: list[str] = []
    offsets: list[int] = []
    match_at = _TOKEN.match
    while position < end:
        match = match_at(text, position)
        if match is None:
            raise _no_token(text, position)
        group = match.lastgroup
        if group == "token":
            tokens.append(match.group())
            offsets.append(position)
            position = match.end()
        elif group == "skip":
            position = match.end()
        else:
            closed_at = text.find("*/", position + 2)
            if closed_at < 0:
                raise _error(text, position, "the comment to end in */", "")
            position = closed_at + 2
    tokens.append("")
    offsets.append(end)
    return Tokens(text, tokens, offsets)


def string_bytes(token: str) -> bytes:
    r"""Return the bytes that a string stands for.

    Raises:
        ValueError: an escape stands for no byte and no character.

    Example:
        >>> string_bytes(r'"a\n\x41\303"')
        b'a\nA\xc3'
    """
    body = token[1:-1]
    if "\\" not in body:
        return body.encode()
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts.extend((body[position : match.start()].encode(), _unescape(match)))
        position = match.end()
    parts.append(body[position:].encode())
    return b"".join(parts)


def _unescape(match: re.Match[str]) -> bytes:
    octal, hexadecimal, short, long, letter = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if short is not None or long is not None:
        return chr(int(short or long, 16)).encode()
    return bytes([_ESCAPED[letter]]) if letter in _ESCAPED else str(letter).encode()


def _no_token(text: str, position: int) -> InvalidSchemaError:
    if text[position] in "\"'":
        return _error(text, position, "the string to end in a quote", "")
    return _error(text, position, "a name, a number, a string or a symbol", text[position])


def _error(text: str, position: int, expected: str, found: str) -> InvalidSchemaError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    if found:
        shown = found if len(found) <= _SHOWN_MAX else found[:_SHOWN_MAX] + "…"
        fact = f"expected {expected}, found {shown!r}"
    else:
        fact = f"expected {expected}, found the end of the text"
    return InvalidSchemaError(f"line {line}, column {column}: {fact}")
