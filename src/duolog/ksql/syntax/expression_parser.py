"""Parse expressions, by precedence (lowest first).

    OR < AND < NOT < = <> < > IN BETWEEN LIKE IS < || < + - < * / % < - + (signs) < -> [] .

A condition needs parentheses in a position that expects a value: `GROUP BY a AND b` is a syntax
error.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import Token, TokenType, exp

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.name_parser import NAME_TOKENS
from duolog.ksql.syntax.type_parser import TypeParser
from duolog.ksql.syntax.words import RESERVED

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
_LITERAL_TYPES: Final = {"DATE", "TIME", "TIMESTAMP"}


class ExpressionParser(TypeParser):
    """Parses expressions. `KsqlParser` parses statements."""

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
                if token.token_type == TokenType.EQ and self._at_equals():
                    self.raise_error("Expecting an expression, found '='. Write one '=' to compare")
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

    def _at_equals(self) -> bool:
        return bool(self._curr) and self._curr.token_type == TokenType.EQ

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
                number = self.number(negative=True)
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
            return self.expression(exp.Literal.number(f".{self.number().name}"), token)
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
        if self._next.token_type == TokenType.L_PAREN and kind in NAME_TOKENS:
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
