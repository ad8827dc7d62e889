"""A position in the tokens of a .proto text, and the steps that every rule of the grammar takes."""

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import DEPTH_MAX
from duolog.schemas.protobuf.tokens import string_bytes, tokenize

_INT32_MAX = (1 << 31) - 1
_DIGITS_MAX = 16  # of a field's number, in any base


class Cursor:
    """Reads tokens one after the other."""

    def __init__(self, text: str) -> None:
        self.source = tokenize(text)
        self.tokens = self.source.tokens
        self.index = 0
        self.depth = 0

    @property
    def next(self) -> str:
        """Return the next token without taking it."""
        return self.tokens[self.index]

    def after_next(self) -> str:
        """Return the token after the next one."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def take(self) -> str:
        token = self.tokens[self.index]
        if token:
            self.index += 1
        return token

    def maybe(self, token: str) -> bool:
        """Take the token if it is the next one, and return whether it was."""
        if self.tokens[self.index] != token:
            return False
        self.index += 1
        return True

    def expect(self, token: str) -> None:
        if not self.maybe(token):
            raise self.error(f'"{token}"')

    def error(self, expected: str) -> InvalidSchemaError:
        """Return an error about the next token."""
        return self.source.error(self.index, expected)

    def error_before(self, expected: str) -> InvalidSchemaError:
        """Return an error about the last token taken."""
        return self.source.error(self.index - 1, expected)

    def enter(self) -> None:
        """Count one more level of braces or brackets.

        Raises:
            InvalidSchemaError: they are nested too deep.
        """
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise self.error_before(f"at most {DEPTH_MAX} levels of nesting")

    def leave(self) -> None:
        self.depth -= 1

    def at_word(self) -> bool:
        first = self.tokens[self.index][:1]
        return first == "_" or first.isalpha()

    def at_string(self) -> bool:
        return self.tokens[self.index][:1] in ('"', "'")

    def at_number(self) -> bool:
        token = self.tokens[self.index]
        return token[:1].isdigit() or (len(token) > 1 and token[0] == ".")

    def word(self, what: str) -> str:
        if not self.at_word():
            raise self.error(what)
        return self.take()

    def dotted(self, what: str) -> str:
        """Take a name such as `a.b.C` or `.a.b.C`."""
        parts = [""] if self.maybe(".") else []
        parts.append(self.word(what))
        while self.maybe("."):
            parts.append(self.word(what))
            if len(parts) > DEPTH_MAX:
                raise self.error_before(f"at most {DEPTH_MAX} parts in a name")
        return ".".join(parts)

    def string(self, what: str) -> str:
        """Take one string or several next to each other, and return what they spell."""
        if not self.at_string():
            raise self.error(what)
        parts = []
        while self.at_string():
            try:
                parts.append(string_bytes(self.take()))
            except ValueError:
                raise self.error_before("escapes of characters that exist") from None
        return b"".join(parts).decode(errors="surrogateescape")

    def integer(self, what: str) -> int:
        """Take an integer of 32 bits, decimal, octal or hexadecimal."""
        negative = self.maybe("-")
        token = self.take() if self.at_number() else ""
        value = _integer(token)
        if value is None:
            self.index -= 1 if token else 0
            raise self.error(what)
        if value > _INT32_MAX + negative:
            raise self.error_before(f"{what} of 32 bits")
        return -value if negative else value


def _integer(token: str) -> int | None:
    if len(token) > _DIGITS_MAX or not token:
        return None
    try:
        if token[:2] in {"0x", "0X"}:
            return int(token, 16)
        return int(token, 8) if token[0] == "0" else int(token)
    except ValueError:
        return None
