"""Random expressions, each written twice: in ksqlDB's SQL, and in DuckDB's.

a < b        coalesce(a < b, false)        comparisons are never null
a / 0        NULL                          errors are null
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from conformance.ksql.random_types import (
    KINDS,
    NUMBERS,
    ORDERED,
    duck_literal,
    sql_literal,
)


class Written(NamedTuple):
    """An expression in both languages, and its type."""

    sql: str
    duck: str
    kind: str


class Expressions:
    """Draws expressions over some columns.

    Args:
        columns: the columns that an expression may use.
    """

    def __init__(self, random: Random, columns: Sequence[Written]) -> None:
        self.random = random
        self.columns = columns

    def of(self, kind: str, depth: int = 2) -> Written:
        """Return an expression of a type: a column, a constant, or a call."""
        found = [column for column in self.columns if column.kind == kind]
        draw = self.random.random()
        if depth and draw < 0.55 and kind in _CALLS:
            return self._call(kind, depth - 1)
        if found and draw < 0.93:
            return self.random.choice(found)
        if kind not in _LITERALS:
            return self.random.choice(found) if found else self._null(kind)
        value = self.random.choice(KINDS[kind].values)
        return Written(sql_literal(value, kind), duck_literal(value, kind), kind)

    def any(self, kinds: Sequence[str] = (), depth: int = 2) -> Written:
        """Return an expression of one of some types, preferring types of columns."""
        of = [column.kind for column in self.columns if not kinds or column.kind in kinds]
        return self.of(self.random.choice(of or list(kinds) or ["INT"]), depth)

    def column(self, kinds: Sequence[str]) -> Written | None:
        """Return a column of one of some types; None if there is no such column."""
        found = [column for column in self.columns if column.kind in kinds]
        return self.random.choice(found) if found else None

    def condition(self, depth: int = 2) -> Written:
        """Return a condition, which is never null."""
        draw = self.random.random()
        if depth and draw < 0.4:
            one, other = self.condition(depth - 1), self.condition(depth - 1)
            word = self.random.choice(["AND", "OR"])
            return _boolean(f"({one.sql} {word} {other.sql})", f"({one.duck} {word} {other.duck})")
        if depth and draw < 0.55:
            one = self.condition(depth - 1)
            return _boolean(f"(NOT {one.sql})", f"(NOT {one.duck})")
        return self._comparison(max(depth - 1, 0))

    def _comparison(self, depth: int) -> Written:  # noqa: PLR0911 - a table of cases
        one = self.any(ORDERED, depth)
        match self.random.randrange(8):
            case 0:
                word = self.random.choice(["IS NULL", "IS NOT NULL"])
                return _boolean(f"({one.sql} {word})", f"({one.duck} {word})")
            case 1 if one.kind in _LITERALS:
                low, high = self._literal(one.kind), self._literal(one.kind)
                return _sure(
                    f"({one.sql} BETWEEN {low.sql} AND {high.sql})",
                    f"({one.duck} BETWEEN {low.duck} AND {high.duck})",
                )
            case 2 if one.kind in _LITERALS:
                values = [self._literal(one.kind) for _ in range(self.random.randrange(1, 4))]
                return _sure(
                    f"({one.sql} IN ({', '.join(value.sql for value in values)}))",
                    f"({one.duck} IN ({', '.join(value.duck for value in values)}))",
                )
            case 3:
                pattern = self.random.choice(["a%", "%b%", "_", "%", "a_"])
                text = self.of("STRING", depth)
                return _sure(f"({text.sql} LIKE '{pattern}')", f"({text.duck} LIKE '{pattern}')")
            case 4:
                other, word = self.of(one.kind, depth), self.random.choice(["", " NOT"])
                sign = f" IS{word} DISTINCT FROM "
                return _boolean(f"({one.sql}{sign}{other.sql})", f"({one.duck}{sign}{other.duck})")
            case 5 if flag := self.column(["BOOLEAN"]):
                word = self.random.choice(["true", "false"])
                return _sure(f"({flag.sql} = {word})", f"({flag.duck} = {word})")
            case _:
                other = self.of(self._near(one.kind), depth)
                word = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
                return _sure(f"({one.sql} {word} {other.sql})", f"({one.duck} {word} {other.duck})")

    def _near(self, kind: str) -> str:
        """Return a type that can be compared with another one."""
        if kind in {"INT", "BIGINT"}:
            return self.random.choice(["INT", "BIGINT"])
        return kind

    def _literal(self, kind: str) -> Written:
        value = self.random.choice(KINDS[kind].values)
        return Written(sql_literal(value, kind), duck_literal(value, kind), kind)

    def _null(self, kind: str) -> Written:
        of = KINDS[kind]
        return Written(f"CAST(NULL AS {of.sql})", f"CAST(NULL AS {of.duck})", kind)

    def _call(self, kind: str, depth: int) -> Written:
        return self.random.choice(_CALLS[kind])(self, kind, depth)


_LITERALS: Final = (*NUMBERS, "STRING", "BOOLEAN")


def _boolean(sql: str, duck: str) -> Written:
    return Written(sql, duck, "BOOLEAN")


def _sure(sql: str, duck: str) -> Written:
    return _boolean(sql, f"coalesce({duck}, false)")


_Draw = Callable[[Expressions, str, int], Written]


def _binary(*signs: str) -> _Draw:
    def draw(of: Expressions, kind: str, depth: int) -> Written:
        one, other, sign = of.of(kind, depth), of.of(kind, 0), of.random.choice(signs)
        # The wider of two numeric types is not widened: 5000000000 times itself overflows
        # for both.
        return Written(f"({one.sql} {sign} {other.sql})", f"({one.duck} {sign} {other.duck})", kind)

    return draw


def _by_literal(of: Expressions, kind: str, depth: int) -> Written:
    one, sign, by = of.of(kind, depth), of.random.choice("*/%"), of.random.choice([2, 3, -4])
    own = {"/": "//"}.get(sign, sign)
    return Written(f"({one.sql} {sign} {by})", f"({one.duck} {own} {by})", kind)


def _case(of: Expressions, kind: str, depth: int) -> Written:
    when, then, other = of.condition(depth), of.of(kind, depth), of.of(kind, depth)
    text = "CASE WHEN {} THEN {} ELSE {} END"
    return Written(
        text.format(when.sql, then.sql, other.sql),
        text.format(when.duck, then.duck, other.duck),
        kind,
    )


def _coalesce(of: Expressions, kind: str, depth: int) -> Written:
    one, other = of.of(kind, depth), of.of(kind, depth)
    name = of.random.choice(["COALESCE", "IFNULL"])
    return Written(f"{name}({one.sql}, {other.sql})", f"coalesce({one.duck}, {other.duck})", kind)


def _call(sql: str, duck: str, *kinds: str) -> _Draw:
    """Return a function that draws a call with arguments of these types in place of {}."""

    def draw(of: Expressions, kind: str, depth: int) -> Written:
        args = [of.of(one, depth) for one in kinds]
        return Written(
            sql.format(*(arg.sql for arg in args)), duck.format(*(arg.duck for arg in args)), kind
        )

    return draw


def _as_int(of: Expressions, kind: str, depth: int) -> Written:
    """Draw a rounded double that fits an INT."""
    one = of.of("DOUBLE", depth)
    ends = f"least(greatest(trunc({one.duck}), -2147483648), 2147483647)"
    duck = f"CASE WHEN {one.duck} IS NOT NULL THEN CAST({ends} AS BIGINT) END"
    return Written(f"CAST({one.sql} AS INT)", duck, kind)


_ANY: Final[tuple[_Draw, ...]] = (_case, _coalesce)
_CALLS: Final[dict[str, Sequence[_Draw]]] = {
    "INT": (
        *_ANY,
        _binary("+", "-"),
        _by_literal,
        _call("ABS({})", "abs({})", "INT"),
        _call("LEN({})", "length({})", "STRING"),
        _call("{}[1]", "({})[1]", "ARRAY"),
        _call("{}[-1]", "({})[-1]", "ARRAY"),
        _call("ARRAY_LENGTH({})", "len({})", "ARRAY"),
        _call("{}['k']", "({})['k']", "MAP"),
        _call("{}->A", "({}).A", "STRUCT"),
        _as_int,
    ),
    "BIGINT": (
        *_ANY,
        _binary("+", "-"),
        _call("CAST({} AS BIGINT)", "{}", "INT"),
        _call("({} + {})", "({} + {})", "INT", "BIGINT"),
        _call("ABS({})", "abs({})", "BIGINT"),
    ),
    "DOUBLE": (
        *_ANY,
        _binary("+", "-"),
        _call("({} * 1.5E0)", "({} * 1.5)", "DOUBLE"),
        _call("({} + {})", "({} + {})", "INT", "DOUBLE"),
        _call("CAST({} AS DOUBLE)", "CAST({} AS DOUBLE)", "DECIMAL"),
        _call("ABS({})", "abs({})", "DOUBLE"),
    ),
    "DECIMAL": (*_ANY,),
    "STRING": (
        *_ANY,
        _call("UCASE({})", "upper({})", "STRING"),
        _call("LCASE({})", "lower({})", "STRING"),
        _call("TRIM({})", "trim({})", "STRING"),
        _call("SUBSTRING({}, 1, 2)", "substring({}, 1, 2)", "STRING"),
        _call("({} + {})", "({} || {})", "STRING", "STRING"),
        _call("CAST({} AS STRING)", "CAST({} AS VARCHAR)", "INT"),
        _call("{}->S", "({}).S", "STRUCT"),
    ),
    "BOOLEAN": (lambda of, _kind, depth: of.condition(depth),),
    "ARRAY": (_call("ARRAY[{}, {}]", "[{}, {}]", "INT", "INT"), *_ANY),
    "STRUCT": (_call("STRUCT(A := {}, S := {})", "{{'A': {}, 'S': {}}}", "INT", "STRING"),),
    "MAP": (_call("MAP('k' := {})", "MAP {{'k': {}}}", "INT"),),
}


def duck_row(values: Sequence[Any], kinds: Sequence[str]) -> str:
    """Return a row for DuckDB's VALUES."""
    return ", ".join(duck_literal(one, kind) for one, kind in zip(values, kinds, strict=True))
