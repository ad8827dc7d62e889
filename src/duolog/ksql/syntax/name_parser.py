"""Parse words, names and literals, the smallest parts of a statement.

A word is a keyword if it is unquoted and a statement expects it there. Most keywords can also be
names; `words.RESERVED` has those that cannot.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from sqlglot import Token, TokenType, exp, parser

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.words import RESERVED

NAME_TOKENS: Final = {TokenType.VAR, TokenType.IDENTIFIER}
_BIGINT_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = 1000
"""Longest whole number that is parsed; Python's int() refuses 4,300 digits."""


class NameParser(parser.Parser):
    """Parses words, names, literals, and lists. `TypeParser` parses types."""

    def at_word(self, *words: str) -> bool:
        """Return true if the next tokens are these words, unquoted."""
        for ahead, word in enumerate(words):
            token = self._ahead(ahead)
            if token is None or token.token_type != TokenType.VAR or token.text.upper() != word:
                return False
        return True

    def take_word(self, *words: str) -> bool:
        """Skip these words if they come next; return true if they did."""
        if not self.at_word(*words):
            return False
        self._advance(len(words))
        return True

    def take_one_of(self, *words: str) -> str | None:
        """Skip one of these words, and return it."""
        for word in words:
            if self.take_word(word):
                return word
        return None

    def expect_word(self, *words: str) -> None:
        for word in words:
            if not self.take_word(word):
                self.expected(word)

    def expect(self, kind: TokenType, sign: str) -> Token:
        if not self._match(kind):
            self.expected(sign)
        return self._prev

    def expected(self, *what: str) -> NoReturn:
        """Raise the error of an unexpected token."""
        wanted = what[0] if len(what) == 1 else f"one of {', '.join(what)}"
        found = f"'{self._curr.text}'" if self._curr else "the end"
        self.raise_error(f"Expecting {wanted}, found {found}")
        raise AssertionError  # The parser raises at its first error.

    def _ahead(self, count: int) -> Token | None:
        at = self._index + count
        return self._tokens[at] if at < len(self._tokens) else None

    def at_name(self) -> bool:
        token = self._curr
        if not token or token.token_type not in NAME_TOKENS:
            return False
        return token.token_type == TokenType.IDENTIFIER or token.text.upper() not in RESERVED

    def identifier(self, what: str = "a name") -> exp.Identifier:
        """Read a name, in upper case unless it is quoted."""
        if not self.at_name():
            self._ensure_not_reserved()
            self.expected(what)
        token = self._curr
        self._advance()
        quoted = token.token_type == TokenType.IDENTIFIER
        text = token.text if quoted else token.text.upper()
        return self.expression(exp.Identifier(this=text, quoted=quoted), token)

    def _ensure_not_reserved(self) -> None:
        """Raise an error if the next token is a reserved word."""
        token = self._curr
        if token and token.token_type in NAME_TOKENS and token.text.upper() in RESERVED:
            self.raise_error(
                f'"{token.text}" is a reserved keyword and it can\'t be used as an identifier. '
                f"You can use it as an identifier by escaping it as '{token.text}' "
            )

    def text(self) -> exp.Literal:
        token = self.expect(TokenType.STRING, "a text in quotes")
        return self.expression(exp.Literal(this=token.text, is_string=True), token)

    def integer(self) -> exp.Literal:
        token = self.expect(TokenType.NUMBER, "a whole number")
        if not token.text.isdecimal():
            self.raise_error(f"Expecting a whole number, found '{token.text}'", token)
        if len(token.text) > _DIGITS_MAX:
            raise _invalid_number(token)
        return self.expression(exp.Literal(this=token.text, is_string=False), token)

    def literal(self) -> exp.Expression:
        """Read a literal, as used in properties."""
        sign = self._match(TokenType.DASH)
        if sign or self._curr.token_type == TokenType.NUMBER:
            number = self.number(negative=bool(sign))
            return self.expression(exp.Neg(this=number)) if sign else number
        if self._curr.token_type == TokenType.STRING:
            return self.text()
        for word, node in (("TRUE", exp.true()), ("FALSE", exp.false()), ("NULL", exp.null())):
            if self.take_word(word):
                return self.expression(node, self._prev)
        return self.expected("a literal")

    def number(self, *, negative: bool = False) -> exp.Literal:
        sign = self._prev if negative else None
        token = self.expect(TokenType.NUMBER, "a number")
        if token.text.isdecimal() and (
            len(token.text) > _DIGITS_MAX or int(token.text) > _BIGINT_MAX + negative
        ):
            raise _invalid_number(token, sign)
        return self.expression(exp.Literal(this=token.text, is_string=False), token)

    def listed(
        self, one: Callable[[], exp.Expression], closing: TokenType | None = None
    ) -> list[exp.Expression]:
        """Read items separated by commas; an empty list if `closing` comes first."""
        if closing is not None and self._curr.token_type == closing:
            return []
        found = [one()]
        while self._match(TokenType.COMMA):
            found.append(one())
        return found


def _invalid_number(token: Token, sign: Token | None = None) -> SqlError:
    first = sign or token
    # ksqlDB counts columns from 2 here.
    place = f"line {first.line}:{first.col - len(first.text) + 2}"
    written = f"{sign.text if sign else ''}{token.text}"
    return SqlError(
        f"Failed to prepare statement: {place}: Invalid numeric literal: {written}", kind="syntax"
    )
