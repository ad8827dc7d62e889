"""Parse pull and push queries, which have more syntax than persistent queries.

    WITH x AS (…) SELECT [DISTINCT] … FROM a [CROSS] JOIN (SELECT …) AS b ON … WHERE …
    GROUP BY … HAVING … QUALIFY … UNION [ALL] | EXCEPT | INTERSECT SELECT …
    ORDER BY … LIMIT n OFFSET m

Expressions may contain (SELECT …), EXISTS (…), IN (SELECT …), and f(…) FILTER (WHERE …) OVER
(PARTITION BY … ORDER BY …).

These words are keywords only in pull and push queries. CREATE … AS SELECT and INSERT read them as
names, as ksqlDB does, except inside subqueries in parentheses or in WITH.
"""

from typing import Final

from sqlglot import Token, TokenType, exp

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.query_parser import Clause, QueryParser
from duolog.ksql.syntax.words import RESERVED

_SETS: Final[dict[str, type[exp.SetOperation]]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "INTERSECT": exp.Intersect,
}
_NOT_ALIASES: Final = (*_SETS, "OFFSET", "CROSS", "QUALIFY")
"""Words that cannot be the alias of the source before them."""
ROWS_ONLY: Final = (
    *(exp.Subquery, exp.Exists, exp.Window, exp.Filter, exp.Order, exp.With),
    *(exp.Qualify, exp.Offset),
)
"""Nodes that only a pull or push query may contain."""


class RowsParser(QueryParser):
    """Parses pull and push queries."""

    _answers = False
    """True while a pull or push query is being read."""

    def rows_statement(self) -> exp.Expression:
        """Read a query that is a statement of its own."""
        found = self.rows_query()
        assert isinstance(found, exp.Expression), found
        return found

    def persistent_query(self) -> exp.Select:
        """Read a persistent query, which may have subqueries, or CHANGES OF a table."""
        if self.at_word("CHANGES", "OF"):
            return self._changes()
        named = self._named_queries() if self.take_word("WITH") else None
        found = self.query()
        if self.at_word("UNION", "ALL"):
            found = self._united(found)
        if named is not None:
            found.set("with_", named)
        return found

    def _changes(self) -> exp.Select:
        token = self._curr
        self._advance(2)
        table = exp.Table(
            this=self.identifier("a table"), changes=self.expression(exp.Var(this="CHANGES"), token)
        )
        source = exp.From(this=self.expression(table, self._prev))
        return self.expression(exp.Select(expressions=[exp.Star()], from_=source), token)

    def _united(self, first: exp.Select) -> exp.Select:
        """Read the rest of UNION ALL after its first query, and return a SELECT over the union."""
        token, found = self._curr, first
        query: exp.Query = found
        while self.take_word("UNION", "ALL"):
            made = exp.Union(this=query, expression=self._term(), distinct=False)
            query = self.expression(made, token)
        alias = exp.TableAlias(this=exp.to_identifier("UNITED", quoted=True))
        source = exp.From(this=exp.Subquery(this=query, alias=alias))
        return self.expression(exp.Select(expressions=[exp.Star()], from_=source), token)

    def rows_query(self) -> exp.Query:
        """Read a query that is a statement, or a subquery in parentheses."""
        before, self._answers = self._answers, True
        try:
            return self._whole_query()
        finally:
            self._answers = before

    def _whole_query(self) -> exp.Query:
        token = self._curr
        named = self._named_queries() if self.take_word("WITH") else None
        found = self._term()
        while (word := self.take_one_of(*_SETS)) is not None:
            distinct = not self.take_word("ALL")
            made = _SETS[word](this=found, expression=self._term(), distinct=distinct)
            found = self.expression(made, token)
        if isinstance(found, exp.SetOperation):
            # The clauses at the end of the last SELECT belong to the whole UNION.
            last = found.expression
            for key in ("order", "limit", "offset", "emit"):
                if isinstance(last, exp.Select) and last.args.get(key) is not None:
                    found.set(key, last.args[key].pop())
            self._read_clauses(found, self._end_clauses())
        if named is not None:
            found.set("with_", named)
        return found

    def _term(self) -> exp.Query:
        if self._curr.token_type == TokenType.L_PAREN:
            return self._subquery()
        return self.query()

    def _named_queries(self) -> exp.With:
        token = self._prev

        def one() -> exp.Expression:
            name = self.identifier("the name of a query")
            columns = None
            if self._match(TokenType.L_PAREN):
                columns = self.listed(lambda: self.identifier("a column"))
                self.expect(TokenType.R_PAREN, "')'")
            self.expect_word("AS")
            query = self._subquery().this
            return exp.CTE(this=query, alias=exp.TableAlias(this=name, columns=columns))

        return self.expression(exp.With(expressions=self.listed(one)), token)

    def _subquery(self) -> exp.Subquery:
        token = self.expect(TokenType.L_PAREN, "'('")
        found = self.rows_query()
        self.expect(TokenType.R_PAREN, "')'")
        return self.expression(exp.Subquery(this=found), token)

    def _at_query(self) -> bool:
        """Return true if a subquery in parentheses comes next and is allowed here."""
        return self._answers and self._opens_query()

    def _opens_query(self) -> bool:
        if self._curr is None or self._curr.token_type != TokenType.L_PAREN:
            return False
        token = self._ahead(1)
        return (
            token is not None
            and token.token_type == TokenType.VAR
            and token.text.upper() in {"SELECT", "WITH"}
        )

    # Clauses.

    def _clauses(self) -> tuple[Clause, ...]:
        clauses = super()._clauses()
        if not self._answers:
            return clauses
        ends = self._end_clauses()
        taken = {key for _, key, _ in ends}
        qualify: Clause = (
            ("QUALIFY",),
            "qualify",
            lambda: exp.Qualify(this=self.condition()),
        )
        return (*(one for one in clauses if one[1] not in taken), qualify, *ends)

    def _end_clauses(self) -> tuple[Clause, ...]:
        own = {key: (words, key, read) for words, key, read in super()._clauses()}
        return (
            (("ORDER", "BY"), "order", self._order),
            own["emit"],
            own["limit"],
            (("OFFSET",), "offset", lambda: exp.Offset(expression=self.integer())),
        )

    def _at_clause(self) -> bool:
        # ALL is not an alias after UNION, in ksqlDB neither.
        if super()._at_clause() or self.at_word("UNION", "ALL"):
            return True
        return self._answers and any(map(self.at_word, _NOT_ALIASES))

    def _order(self) -> exp.Order:
        token = self._prev

        def one() -> exp.Expression:
            found = exp.Ordered(this=self.condition(), desc=False)
            if self.take_one_of("ASC", "DESC") == "DESC":
                found.set("desc", True)  # noqa: FBT003 - sqlglot's signature
            if self.take_word("NULLS"):
                word = self.take_one_of("FIRST", "LAST")
                if word is None:
                    self.expected("FIRST", "LAST")
                found.set("nulls_first", word == "FIRST")
            return found

        return self.expression(exp.Order(expressions=self.listed(one)), token)

    # Sources.

    def _source(self) -> exp.Expression:
        if self._at_changes():
            token = self._curr
            self._advance(2)
            table = super()._source()
            table.set("changes", self.expression(exp.Var(this="CHANGES"), token))
            return table
        if not self._opens_query():
            return super()._source()
        found = self._subquery()
        if self.take_word("AS") or (self.at_name() and not self._at_clause()):
            found.set("alias", exp.TableAlias(this=self.identifier("an alias")))
        return found

    def _at_changes(self) -> bool:
        """Return true if CHANGES OF a table comes next; CHANGES and OF may also be names."""
        table = self._ahead(2)
        if table is None or not self.at_word("CHANGES", "OF"):
            return False
        named = table.token_type == TokenType.VAR and table.text.upper() not in RESERVED
        return named or table.token_type == TokenType.IDENTIFIER

    def _join(self) -> nodes.SourceJoin | None:
        token = self._curr
        if self._answers and self.take_word("CROSS", "JOIN"):
            return self.expression(nodes.SourceJoin(this=self._source(), kind="CROSS"), token)
        return super()._join()

    # Expressions.

    def _primary(self) -> exp.Expression:
        if self._at_query():
            return self._subquery()
        token = self._curr
        if self._answers and self.at_word("EXISTS"):
            self._advance()
            return self.expression(exp.Exists(this=self._subquery().this), token)
        return super()._primary()

    def _worded_predicate(self, found: exp.Expression, token: Token) -> exp.Expression | None:
        if self.at_word("IN"):
            self._advance()
            if self._at_query():
                return self.expression(exp.In(this=found, query=self._subquery()), token)
            self._retreat(self._index - 1)
        return super()._worded_predicate(found, token)

    def _call(self) -> exp.Expression:
        token = self._curr
        found = super()._call()
        if not self._answers:
            return found
        if self.at_word("FILTER") and self._next.token_type == TokenType.L_PAREN:
            self._advance(2)
            self.expect_word("WHERE")
            where = exp.Where(this=self.condition())
            self.expect(TokenType.R_PAREN, "')'")
            found = self.expression(exp.Filter(this=found, expression=where), token)
        if self.at_word("OVER") and self._next.token_type == TokenType.L_PAREN:
            self._advance(2)
            found = self.expression(self._over(found), token)
            self.expect(TokenType.R_PAREN, "')'")
        return found

    def _over(self, call: exp.Expression) -> exp.Window:
        window = exp.Window(this=call)
        if self.take_word("PARTITION", "BY"):
            window.set("partition_by", self.listed(self.value))
        if self.take_word("ORDER", "BY"):
            window.set("order", self._order())
        if (kind := self.take_one_of("ROWS", "RANGE", "GROUPS")) is not None:
            if self.take_word("BETWEEN"):
                start = self._bound()
                self.expect_word("AND")
                bounds = (start, self._bound())
            else:
                bounds = (self._bound(), ("CURRENT ROW", None))
            (start_value, start_side), (end_value, end_side) = bounds
            spec = exp.WindowSpec(
                kind=kind,
                start=start_value,
                start_side=start_side,
                end=end_value,
                end_side=end_side,
            )
            window.set("spec", spec)
        return window

    def _bound(self) -> tuple[object, str | None]:
        """Read a bound of a window frame: its value, and PRECEDING or FOLLOWING."""
        if self.take_word("CURRENT", "ROW"):
            return "CURRENT ROW", None
        value: object = "UNBOUNDED" if self.take_word("UNBOUNDED") else self.integer()
        side = self.take_one_of("PRECEDING", "FOLLOWING")
        if side is None:
            self.expected("PRECEDING", "FOLLOWING")
        return value, side

    def _read_clauses(self, query: exp.Query, clauses: tuple[Clause, ...]) -> None:
        for words, key, read in clauses:
            if self.at_word(*words):
                self._advance(len(words))
                query.set(key, read())
