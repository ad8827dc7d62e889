"""Parse expressions, by precedence (lowest first).

    OR < AND < NOT < = <> < > IN BETWEEN LIKE IS < || < + - < * / % < - + (signs) < -> [] .

A condition needs parentheses in a position that expects a value: `GROUP BY a AND b` is a syntax
error.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, NoReturn

from sqlglot import Token, TokenType, exp, parser

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.words import RESERVED, TYPES

_COMPARISONS: Final[Mapping[TokenType, type[exp.Expression]]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
_TERMS: Final[Mapping[TokenType, type[exp.Expression]]] = {
    TokenType.PLUS: exp.Add,
    TokenType.DASH: exp.Sub,
}
_FACTORS: Final[Mapping[TokenType, type[exp.Expression]]] = {
    TokenType.STAR: exp.Mul,
    TokenType.SLASH: exp.Div,
    TokenType.MOD: exp.Mod,
}
_NAME_TOKENS: Final = {TokenType.VAR, TokenType.IDENTIFIER}
_BIGINT_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = 1000
"""Longest whole number that is parsed; Python's int() refuses 4,300 digits."""
_LITERAL_TYPES: Final = {"DATE", "TIME", "TIMESTAMP"}


class ExpressionParser(parser.Parser):
    """Parses names, types and expressions. `KsqlParser` parses statements."""

    # Words.

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

    # Names and literals.

    def at_name(self) -> bool:
        token = self._curr
        if not token or token.token_type not in _NAME_TOKENS:
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
        if token and token.token_type in _NAME_TOKENS and token.text.upper() in RESERVED:
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
            number = self._number(negative=bool(sign))
            return self.expression(exp.Neg(this=number)) if sign else number
        if self._curr.token_type == TokenType.STRING:
            return self.text()
        for word, node in (("TRUE", exp.true()), ("FALSE", exp.false()), ("NULL", exp.null())):
            if self.take_word(word):
                return self.expression(node, self._prev)
        return self.expected("a literal")

    def _number(self, *, negative: bool = False) -> exp.Literal:
        sign = self._prev if negative else None
        token = self.expect(TokenType.NUMBER, "a number")
        if token.text.isdecimal() and (
            len(token.text) > _DIGITS_MAX or int(token.text) > _BIGINT_MAX + negative
        ):
            raise _invalid_number(token, sign)
        return self.expression(exp.Literal(this=token.text, is_string=False), token)

    # Types.

    def data_type(self) -> exp.DataType:
        """Read a built-in type, or the name of a custom type."""
        if not self.at_name():
            self.expected("a type")
        token = self._curr
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word in {"ARRAY", "MAP", "STRUCT"} and self._next.token_type == TokenType.LT:
            self._advance(2)
            read = {"ARRAY": self._array_type, "MAP": self._map_type, "STRUCT": self._struct_type}
            found = read[word]()
            self.expect(TokenType.GT, "'>'")
            return self.expression(found, token)
        if word in {"DECIMAL", "DEC"}:
            self._advance()
            return self.expression(self._decimal_type(), token)
        if word in TYPES:
            self._advance()
            self._ignored_length()
            return self.expression(exp.DataType(this=TYPES[word]), token)
        name = self.identifier("a type")
        return self.expression(exp.DataType(this=exp.DType.USERDEFINED, kind=name), token)

    def _array_type(self) -> exp.DataType:
        return exp.DataType(this=exp.DType.ARRAY, expressions=[self.data_type()], nested=True)

    def _map_type(self) -> exp.DataType:
        key = self.data_type()
        self.expect(TokenType.COMMA, "','")
        return exp.DataType(this=exp.DType.MAP, expressions=[key, self.data_type()], nested=True)

    def _struct_type(self) -> exp.DataType:
        fields: list[exp.Expression] = []
        while self._curr.token_type != TokenType.GT:
            name = self.identifier("a field")
            fields.append(self.expression(exp.ColumnDef(this=name, kind=self.data_type())))
            if not self._match(TokenType.COMMA):
                break
        return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)

    def _decimal_type(self) -> exp.DataType:
        sizes = []
        if self._match(TokenType.L_PAREN):
            self._expect_parameter()
            sizes = [exp.DataTypeParam(this=self.integer())]
            if self._match(TokenType.COMMA):
                sizes.append(exp.DataTypeParam(this=self.integer()))
            self.expect(TokenType.R_PAREN, "')'")
        return exp.DataType(this=exp.DType.DECIMAL, expressions=sizes)

    def _ignored_length(self) -> None:
        """Read and ignore a length, as in VARCHAR(20) or VARCHAR(STRING)."""
        if self._match(TokenType.L_PAREN):
            if not self.take_word("STRING"):
                self._expect_parameter()
                self._advance()
            self.expect(TokenType.R_PAREN, "')'")

    def _expect_parameter(self) -> None:
        if self._curr.token_type not in {TokenType.NUMBER, TokenType.STRING}:
            self.raise_error("Expecting {'STRING', INTEGER_VALUE}")

    # Conditions.

    def condition(self) -> exp.Expression:
        return self._chain(self._conjunction, {"OR": exp.Or})

    def _conjunction(self) -> exp.Expression:
        return self._chain(self._negation, {"AND": exp.And})

    def _chain(
        self, part: Callable[[], exp.Expression], kinds: dict[str, type[exp.Expression]]
    ) -> exp.Expression:
        found = part()
        while (word := self.take_one_of(*kinds)) is not None:
            token = self._prev
            found = self.expression(kinds[word](this=found, expression=part()), token)
        return found

    def _negation(self) -> exp.Expression:
        if self.take_word("NOT"):
            token = self._prev
            return self.expression(exp.Not(this=self._negation()), token)
        return self._predicate()

    def _predicate(self) -> exp.Expression:
        found = self.value()
        while True:
            token = self._curr
            if token.token_type in _COMPARISONS:
                self._advance()
                kind = _COMPARISONS[token.token_type]
                found = self.expression(kind(this=found, expression=self.value()), token)
            elif self.take_word("IS"):
                found = self._is(found, token)
            else:
                negated = self.take_word("NOT")
                behind = self._worded_predicate(found, token)
                if behind is None:
                    if negated:
                        self.expected("BETWEEN", "IN", "LIKE")
                    return found
                found = self.expression(exp.Not(this=behind), token) if negated else behind

    def _is(self, found: exp.Expression, token: Token) -> exp.Expression:
        negated = self.take_word("NOT")
        if self.take_word("NULL"):
            tested: exp.Expression = exp.Is(this=found, expression=exp.null())
        else:
            self.expect_word("DISTINCT", "FROM")
            tested = exp.NullSafeNEQ(this=found, expression=self.value())
        tested = self.expression(tested, token)
        return self.expression(exp.Not(this=tested), token) if negated else tested

    def _worded_predicate(self, found: exp.Expression, token: Token) -> exp.Expression | None:
        if self.take_word("BETWEEN"):
            low = self.value()
            self.expect_word("AND")
            return self.expression(exp.Between(this=found, low=low, high=self.value()), token)
        if self.take_word("IN"):
            self.expect(TokenType.L_PAREN, "'('")
            among = self.listed(self.condition)
            self.expect(TokenType.R_PAREN, "')'")
            return self.expression(exp.In(this=found, expressions=among), token)
        if self.take_word("LIKE"):
            like: exp.Expression = exp.Like(this=found, expression=self.value())
            if self.take_word("ESCAPE"):
                like = exp.Escape(this=like, expression=self.text())
            return self.expression(like, token)
        return None

    # Values.

    def value(self) -> exp.Expression:
        found = self._sum()
        while self._match(TokenType.DPIPE):
            token = self._prev
            found = self.expression(exp.DPipe(this=found, expression=self._sum()), token)
        return found

    def _sum(self) -> exp.Expression:
        return self._operators(self._product, _TERMS)

    def _product(self) -> exp.Expression:
        return self._operators(self._signed, _FACTORS)

    def _operators(
        self, part: Callable[[], exp.Expression], kinds: Mapping[TokenType, type[exp.Expression]]
    ) -> exp.Expression:
        found = part()
        while self._curr.token_type in kinds:
            token = self._curr
            self._advance()
            found = self.expression(kinds[token.token_type](this=found, expression=part()), token)
        return found

    def _signed(self) -> exp.Expression:
        token = self._curr
        if self._match(TokenType.DASH):
            if self._curr.token_type == TokenType.NUMBER:
                number = self._number(negative=True)
                return self._parts(self.expression(exp.Neg(this=number), token))
            return self.expression(exp.Neg(this=self._signed()), token)
        if self._match(TokenType.PLUS):
            return self._signed()
        return self._parts(self._primary())

    def _parts(self, found: exp.Expression) -> exp.Expression:
        """Read the accesses that follow a value: fields, items and AT TIME ZONE."""
        while True:
            token = self._curr
            if self._match(TokenType.ARROW):
                field = exp.Star() if self._match(TokenType.STAR) else self.identifier("a field")
                found = self.expression(nodes.Deref(this=found, name=field), token)
            elif self._match(TokenType.L_BRACKET):
                found = self.expression(exp.Bracket(this=found, expressions=[self.value()]), token)
                self.expect(TokenType.R_BRACKET, "']'")
            elif self.at_word("AT") and self._next and self._next.text.upper() == "TIME":
                self.expect_word("AT", "TIME", "ZONE")
                # Convert to the local time in that zone, from UTC.
                args = [found, exp.Literal.string("UTC"), self._primary()]
                called = exp.Anonymous(this="CONVERT_TZ", expressions=args)
                found = self.expression(called, token)
            else:
                return found

    def _primary(self) -> exp.Expression:  # noqa: PLR0911 - a table of cases
        token = self._curr
        kind = token.token_type
        if kind == TokenType.DOT and self._next and self._next.token_type == TokenType.NUMBER:
            self._advance()
            return self.expression(exp.Literal.number(f".{self._number().name}"), token)
        if kind in {TokenType.NUMBER, TokenType.STRING}:
            return self.literal()
        if kind == TokenType.L_PAREN:
            return self._parenthesised()
        if self.at_word("TRUE") or self.at_word("FALSE") or self.at_word("NULL"):
            return self.literal()
        if self.take_word("CASE"):
            return self._case(token)
        if kind == TokenType.VAR and self._next.token_type == TokenType.STRING:
            return self._typed_literal(token)
        if self._next.token_type == TokenType.L_PAREN and kind in _NAME_TOKENS:
            return self._call()
        if self.at_word("ARRAY") and self._next.token_type == TokenType.L_BRACKET:
            self._advance(2)
            items = self.listed(self.condition, closing=TokenType.R_BRACKET)
            self.expect(TokenType.R_BRACKET, "']'")
            return self.expression(exp.Array(expressions=items), token)
        return self._column()

    def _typed_literal(self, token: Token) -> exp.Expression:
        """Read DATE '2020-02-10', TIME '…', TIMESTAMP '…'."""
        if token.text.upper() not in _LITERAL_TYPES:
            self.raise_error(f"Unknown type: {token.text}", token)
        to = self.data_type()
        return self.expression(exp.Cast(this=self.text(), to=to), token)

    def _column(self) -> exp.Expression:
        token = self._curr
        name = self.identifier("an expression")
        if self._match(TokenType.DOT):
            column = self.identifier("a column")
            return self.expression(exp.Column(this=column, table=name), token)
        return self.expression(exp.Column(this=name), token)

    def _parenthesised(self) -> exp.Expression:
        token = self.expect(TokenType.L_PAREN, "'('")
        inside = self.condition()
        if self._curr.token_type == TokenType.COMMA:
            self.raise_error("missing ')' at ','")
        self.expect(TokenType.R_PAREN, "')'")
        return self.expression(exp.Paren(this=inside), token)

    def _case(self, token: Token) -> exp.Expression:
        operand = None if self.at_word("WHEN") else self.value()
        arms = []
        while self.take_word("WHEN"):
            when = self.condition()
            self.expect_word("THEN")
            arms.append(exp.If(this=when, true=self.condition()))
        if not arms:
            self.expected("WHEN")
        default = self.condition() if self.take_word("ELSE") else None
        self.expect_word("END")
        return self.expression(exp.Case(this=operand, ifs=arms, default=default), token)

    def _call(self) -> exp.Expression:
        token = self._curr
        word = token.text.upper() if token.token_type == TokenType.VAR else token.text
        if word in RESERVED - {"CAST", "LEFT", "RIGHT"}:
            self.expected("an expression")
        self._advance(2)
        match word:
            case "CAST":
                found = self._cast()
            case "STRUCT":
                found = nodes.StructOf(expressions=self._assigned(self.identifier))
            case "MAP":
                found = nodes.MapOf(expressions=self._assigned(self.condition))
            case _:
                found = exp.Anonymous(this=word, expressions=self._arguments())
        self.expect(TokenType.R_PAREN, "')'")
        return self.expression(found, token)

    def _cast(self) -> exp.Expression:
        value = self.condition()
        self.expect_word("AS")
        return exp.Cast(this=value, to=self.data_type())

    def _assigned(self, key: Callable[[], exp.Expression]) -> list[exp.Expression]:
        def pair() -> exp.Expression:
            token = self._curr
            this = key()
            self.expect(TokenType.COLON_EQ, "':='")
            return self.expression(nodes.Assigned(this=this, expression=self.condition()), token)

        return self.listed(pair, closing=TokenType.R_PAREN)

    def _arguments(self) -> list[exp.Expression]:
        if self._match(TokenType.STAR):
            return [self.expression(exp.Star(), self._prev)]
        return self.listed(self._argument, closing=TokenType.R_PAREN)

    def _argument(self) -> exp.Expression:
        token = self._curr
        if self.take_word("DISTINCT"):
            return self.expression(exp.Distinct(expressions=[self.condition()]), token)
        return self._lambda() or self.condition()

    def _lambda(self) -> exp.Expression | None:
        start = self._index
        token = self._curr
        names: list[exp.Identifier] = []
        if self._match(TokenType.L_PAREN):
            while self.at_name():
                names.append(self.identifier())
                if not self._match(TokenType.COMMA):
                    break
            closed = bool(names) and self._match(TokenType.R_PAREN)
        else:
            closed = self.at_name()
            names = [self.identifier()] if closed else []
        if not (closed and self._match(TokenType.FARROW)):
            self._retreat(start)
            return None
        return self.expression(exp.Lambda(this=self.condition(), expressions=names), token)

    # Lists.

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


def number_of(literal: exp.Literal) -> Decimal:
    return Decimal(literal.name)


def _invalid_number(token: Token, sign: Token | None = None) -> SqlError:
    first = sign or token
    # ksqlDB counts columns from 2 here.
    place = f"line {first.line}:{first.col - len(first.text) + 2}"
    written = f"{sign.text if sign else ''}{token.text}"
    return SqlError(
        f"Failed to prepare statement: {place}: Invalid numeric literal: {written}", kind="syntax"
    )
