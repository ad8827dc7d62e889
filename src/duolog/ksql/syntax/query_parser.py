"""Parse queries: SELECT, sources, windows and joins.

SELECT … FROM a [JOIN b WITHIN … ON …] [WINDOW …] [WHERE …] [GROUP BY …] [PARTITION BY …]
[HAVING …] [EMIT …] [LIMIT n]
"""

from collections.abc import Callable
from typing import Final

from sqlglot import TokenType, exp

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.expression_parser import ExpressionParser
from duolog.ksql.syntax.words import CALENDAR_UNITS, UNITS

SEE_PULL_QUERIES: Final = (
    " See https://cnfl.io/queries for more info.\n"
    "Add EMIT CHANGES if you intended to issue a push query."
)
"""End of ksqlDB's refusals of pull queries."""

_EMITTED: Final = ("CHANGES", "FINAL")
_SIDES: Final = ("LEFT", "RIGHT", "FULL")

Clause = tuple[tuple[str, ...], str, Callable[[], exp.Expression]]
"""First words of a clause, its key in the Select node, and the method that reads the rest."""


class QueryParser(ExpressionParser):
    """Parses queries."""

    def query(self) -> exp.Select:
        """Read a SELECT."""
        token = self._curr
        self.expect_word("SELECT")
        select = self.expression(exp.Select(distinct=self._distinct()), token)
        items = self.listed(self._item)
        headers = [item for item in items if isinstance(item, nodes.HeaderItem)]
        select.set(
            "expressions", [item for item in items if not isinstance(item, nodes.HeaderItem)]
        )
        if headers:
            select.set("headers", headers)
        self.expect_word("FROM")
        select.set("from_", self.expression(exp.From(this=self._source()), self._prev))
        joins = []
        while (join := self._join()) is not None:
            joins.append(join)
        select.set("joins", joins)
        for words, key, read in self._clauses():
            if self.at_word(*words):
                self._advance(len(words))
                select.set(key, read())
        return select

    def _distinct(self) -> exp.Distinct | None:
        """Read DISTINCT, which is reserved in ksqlDB too."""
        token = self._curr
        return self.expression(exp.Distinct(), token) if self.take_word("DISTINCT") else None

    def _clauses(self) -> tuple[Clause, ...]:
        return (
            (("WINDOW",), "stream_window", self._window),
            (("WHERE",), "where", lambda: exp.Where(this=self.condition())),
            (("GROUP", "BY"), "group", self._group),
            (("PARTITION", "BY"), "partition_by", self._partition),
            (("HAVING",), "having", lambda: exp.Having(this=self.condition())),
            (("EMIT",), "emit", self._emit),
            (("LIMIT",), "limit", self._limit),
        )

    def _limit(self) -> exp.Limit:
        emits = self._tokens[self._index - 2].text.upper() in _EMITTED
        negative = self._match(TokenType.DASH)
        number = self.integer()
        if negative:
            clause = "queries don't support negative integers in the LIMIT clause."
            raise SqlError(f"Push {clause}" if emits else f"Pull {clause}{SEE_PULL_QUERIES}")
        return exp.Limit(expression=number)

    # Select items.

    def _item(self) -> exp.Expression:
        token = self._curr
        if self._match(TokenType.STAR):
            return self.expression(exp.Star(), token)
        if self.at_name() and self._next.token_type == TokenType.DOT and self._is_star(2):
            table = self.identifier()
            self._advance(2)
            return self.expression(exp.Column(this=exp.Star(), table=table), token)
        found = self.condition()
        alias: exp.Identifier | None = None
        if self.take_word("AS"):
            alias = self.identifier("an alias")
        elif self.at_name() and not self._at_clause() and not self._at_header():
            alias = self.identifier()
        if self._at_header():
            return self._header_item(found, alias)
        if alias is None:
            return found
        return self.expression(exp.Alias(this=found, alias=alias), token)

    def _at_header(self) -> bool:
        token = self._ahead(1)
        opens = token is not None and token.token_type == TokenType.L_PAREN
        return opens and self.at_word("HEADER")

    def _header_item(self, found: exp.Expression, alias: exp.Expression | None) -> nodes.HeaderItem:
        token = self._curr
        self._advance(2)
        header = self.text()
        self.expect(TokenType.R_PAREN, "')'")
        return self.expression(nodes.HeaderItem(this=found, alias=alias, header=header), token)

    def _is_star(self, ahead: int) -> bool:
        token = self._ahead(ahead)
        return token is not None and token.token_type == TokenType.STAR

    def _at_clause(self) -> bool:
        return any(self.at_word(*words) for words, _, _ in self._clauses())

    # Sources.

    def _source(self) -> exp.Expression:
        token = self._curr
        table = self.expression(exp.Table(this=self.identifier("a stream or table")), token)
        if self.take_word("AS") or (self.at_name() and not self._at_clause()):
            table.set("alias", exp.TableAlias(this=self.identifier("an alias")))
        return table

    def _join(self) -> nodes.SourceJoin | None:
        start, token = self._index, self._curr
        side = self.take_one_of(*_SIDES)
        outer = side is not None and self.take_word("OUTER")
        inner = side is None and self.take_word("INNER")
        if not self.take_word("JOIN"):
            if side or outer or inner:
                self.expected("JOIN")
            self._retreat(start)
            return None
        join = nodes.SourceJoin(this=self._source(), side=side, kind="INNER" if inner else None)
        if self.take_word("WITHIN"):
            join.set("within", self._within())
        self.expect_word("ON")
        join.set("on", self.condition())
        return self.expression(join, token)

    def _within(self) -> nodes.Within:
        token = self._prev
        if self._match(TokenType.L_PAREN):
            before = self.duration()
            self.expect(TokenType.COMMA, "','")
            after = self.duration()
            self.expect(TokenType.R_PAREN, "')'")
        else:
            before = self.duration()
            after = before.copy()
        grace = self.duration() if self.take_word("GRACE", "PERIOD") else None
        return self.expression(nodes.Within(before=before, after=after, grace=grace), token)

    def duration(self) -> nodes.Duration:
        """Read a duration: number and unit."""
        token = self._curr
        number = self.integer()
        unit = self._curr.text.upper().removesuffix("S")
        if self._curr.token_type != TokenType.VAR or unit not in UNITS | dict.fromkeys(
            CALENDAR_UNITS
        ):
            self.expected("a unit of time (DAYS, HOURS, MINUTES, SECONDS or MILLISECONDS)")
        self._advance()
        return self.expression(nodes.Duration(this=number, unit=exp.var(unit)), token)

    # Clauses.

    def _window(self) -> nodes.StreamWindow:
        token = self._curr
        name = None
        kind = self.take_one_of("TUMBLING", "HOPPING", "SESSION")
        if kind is None:
            name = self.identifier("TUMBLING, HOPPING or SESSION")
            kind = self.take_one_of("TUMBLING", "HOPPING", "SESSION")
        if kind is None:
            self.expected("TUMBLING", "HOPPING", "SESSION")
        self.expect(TokenType.L_PAREN, "'('")
        if kind != "SESSION":
            self.expect_word("SIZE")
        window = nodes.StreamWindow(kind=kind, size=self.duration(), this=name)
        while self._match(TokenType.COMMA):
            self._window_option(window, kind)
        self.expect(TokenType.R_PAREN, "')'")
        return self.expression(window, token)

    def _window_option(self, window: nodes.StreamWindow, kind: str) -> None:
        options = [(("RETENTION",), "retention"), (("GRACE", "PERIOD"), "grace")]
        if kind == "HOPPING":
            options.insert(0, (("ADVANCE", "BY"), "advance"))
        options.append((("IDLE", "TIMEOUT"), "idle"))
        if kind != "SESSION":
            options.append((("OFFSET",), "offset"))
        if kind == "TUMBLING":
            options.append((("TIMEZONE",), "zone"))
        for words, key in options:
            if window.args.get(key) is None and self.take_word(*words):
                window.set(key, self.text() if key == "zone" else self.duration())
                return
        self.expected(*(" ".join(words) for words, _ in options))

    def _group(self) -> exp.Group:
        return exp.Group(expressions=self._grouping())

    def _partition(self) -> nodes.PartitionBy:
        return nodes.PartitionBy(expressions=self._grouping())

    def _grouping(self) -> list[exp.Expression]:
        """Read values separated by commas, optionally in one pair of parentheses."""
        start = self._index
        if self._match(TokenType.L_PAREN):
            found = self.listed(self.value, closing=TokenType.R_PAREN)
            ends = self._match(TokenType.R_PAREN) and not self._continues()
            if ends:
                return found
            self._retreat(start)
        return self.listed(self.value)

    def _continues(self) -> bool:
        """Return true if what was read in parentheses is only the start of a value."""
        kind = self._curr.token_type if self._curr else None
        return kind in {
            TokenType.COMMA,
            TokenType.PLUS,
            TokenType.DASH,
            TokenType.STAR,
            TokenType.SLASH,
            TokenType.MOD,
            TokenType.ARROW,
            TokenType.L_BRACKET,
            TokenType.DPIPE,
        }

    def _emit(self) -> nodes.Emit:
        token = self._prev
        what = self.take_one_of(*_EMITTED)
        if what is None:
            self.expected(*_EMITTED)
        return self.expression(nodes.Emit(this=what), token)
