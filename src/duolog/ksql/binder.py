"""Expressions of the language as expressions of the plan, typed.

names        by a scope                     literals   INTEGER, BIGINT, DECIMAL as they are written
operators    calls of `plan.sql.operators`  functions  by the signature that fits
texts        beside a DATE, TIME, TIMESTAMP, BOOLEAN or number are read as one where the language says so
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as DecimalValue
from typing import Final, NamedTuple

from sqlglot import exp

from duolog.ksql import nodes
from duolog.ksql.errors import SqlError
from duolog.ksql.formatting import formatted
from duolog.ksql.nodes import place_of
from duolog.ksql.scope import SqlScope
from duolog.ksql.types import sql_name, type_from, wider
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import Call, Cast, Expression, Item, Lambda, Literal, Variable
from duolog.plan.sql.registry import PREFIX, SQL_FUNCTIONS
from duolog.plan.sql.signatures import LambdaOf, SqlFunction
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
)

COMPARISONS: Final = {
    exp.EQ: "EQUAL",
    exp.NEQ: "NOT_EQUAL",
    exp.LT: "LESS_THAN",
    exp.LTE: "LESS_THAN_OR_EQUAL",
    exp.GT: "GREATER_THAN",
    exp.GTE: "GREATER_THAN_OR_EQUAL",
    exp.NullSafeNEQ: "IS_DISTINCT_FROM",
}
_ARITHMETIC: Final = {
    exp.Add: "ADD",
    exp.Sub: "SUBTRACT",
    exp.Mul: "MULTIPLY",
    exp.Div: "DIVIDE",
    exp.Mod: "MODULUS",
}
_INT_MAX: Final = 2**31 - 1
_TIMES: Final = (DATE, TIME, TIMESTAMP)


class Bound(NamedTuple):
    """An expression of the plan, and its type."""

    expression: Expression
    type: Type


Rule = Callable[[exp.Expression], Bound | None]
"""Says what an expression means in a clause of its own, before the binder looks at it: aggregates, for example."""


@dataclass(frozen=True)
class Binder:
    """Binds expressions in one scope."""

    scope: SqlScope
    types: Mapping[str, Type]
    rule: Rule | None = None
    variables: Mapping[str, Variable] | None = None

    def bind(self, node: exp.Expression) -> Bound:
        """Return what `node` means.

        Raises:
            SqlError: a name is unknown, or types do not fit.
        """
        if self.rule is not None and (found := self.rule(node)) is not None:
            return found
        for kind, read in _CASES.items():
            if isinstance(node, kind):
                return read(self, node)
        raise AssertionError(type(node))

    def condition(self, node: exp.Expression) -> Expression:
        """Bind what must be true or false, in the clause of the scope."""
        clause = self.scope.clause
        try:
            bound = self.bind(node)
        except SqlError as error:
            if error.message.startswith(("Cannot compare", "Error processing")):
                raise SqlError(
                    f"Error in {clause} expression: {error.message}", at=error.at
                ) from None
            raise
        if bound.type not in {BOOLEAN, NULL}:
            raise SqlError(
                f"Type error in {clause} expression: Should evaluate to boolean but is "
                f"{formatted(node)} ({sql_name(bound.type)}) instead.",
                at=place_of(node),
            )
        return bound.expression

    # Leaves.

    def _column(self, node: exp.Column) -> Bound:
        if self.variables and not node.table and node.name in self.variables:
            variable = self.variables[node.name]
            return Bound(variable, variable.type)
        found = self.scope.find(node)
        return Bound(found.expression, found.type)

    def _literal(self, node: exp.Literal) -> Bound:
        if node.is_string:
            return _constant(node.name, STRING)
        return _number(node.name)

    def _negative(self, node: exp.Neg) -> Bound:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _number("-" + node.this.name)
        bound = self.bind(node.this)
        return self._call("SUBTRACT", (_constant(0, INT), bound), node)

    # Logic.

    def _connector(self, node: exp.Connector) -> Bound:
        sides = [self.bind(side).expression for side in (node.this, node.expression)]
        sign = "AND" if isinstance(node, exp.And) else "OR"
        return Bound(Call(sign, tuple(sides)), BOOLEAN)

    def _not(self, node: exp.Not) -> Bound:
        return Bound(Call("NOT", (self.bind(node.this).expression,)), BOOLEAN)

    def _is_null(self, node: exp.Is) -> Bound:
        return Bound(Call("IS_NULL", (self.bind(node.this).expression,)), BOOLEAN)

    def _comparison(self, node: exp.Binary) -> Bound:
        name = COMPARISONS[type(node)]
        left, right = self.bind(node.this), self.bind(node.expression)
        left, right = _read_as_time(left, right), _read_as_time(right, left)
        if not _comparable(left.type, right.type, name):
            raise SqlError(
                f"Cannot compare {formatted(node.this)} ({sql_name(left.type)}) to "
                f"{formatted(node.expression)} ({sql_name(right.type)}) with {name}.",
                at=place_of(node),
            )
        return Bound(Call(PREFIX + name, (left.expression, right.expression)), BOOLEAN)

    def _between(self, node: exp.Between) -> Bound:
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.bind(exp.And(this=low, expression=high))

    def _like(self, node: exp.Expression) -> Bound:
        escape = node.expression if isinstance(node, exp.Escape) else None
        like = node.this if escape is not None else node
        sides = [self.bind(like.this).expression, self.bind(like.expression).expression]
        if escape is not None:
            sides.append(self.bind(escape).expression)
        return Bound(Call(PREFIX + "LIKE", tuple(sides)), BOOLEAN)

    def _case(self, node: exp.Case) -> Bound:
        arms: list[Bound] = []
        args: list[Expression] = []
        for arm in node.args["ifs"]:
            when = arm.this
            if node.this is not None:
                when = exp.EQ(this=node.this.copy(), expression=when.copy())
            args.append(self.bind(when).expression)
            arms.append(self.bind(arm.args["true"]))
        default = node.args.get("default")
        otherwise = self.bind(default) if default is not None else None
        of = self._common([*arms, *([otherwise] if otherwise else [])], node)
        values = [_as(of, arm) for arm in arms]
        parts = [part for pair in zip(args, values, strict=True) for part in pair]
        if otherwise is not None:
            parts.append(_as(of, otherwise))
        return Bound(Call("CASE", tuple(parts)), of)

    # Arithmetic.

    def _arithmetic(self, node: exp.Binary) -> Bound:
        sides = self.bind(node.this), self.bind(node.expression)
        types = [side.type for side in sides]
        if isinstance(node, exp.Add) and STRING in types and set(types) <= {STRING, NULL}:
            return Bound(Call(PREFIX + "CONCAT", tuple(side.expression for side in sides)), STRING)
        if not all(numeric(of) or of == NULL for of in types):
            raise SqlError(
                f"Error processing expression: {formatted(node)}. Unsupported arithmetic types. "
                + " ".join(
                    of.name.replace("INT", "INTEGER") if of == INT else of.name for of in types
                ),
                at=place_of(node),
            )
        return self._call(_ARITHMETIC[type(node)], sides, node)

    def _concatenated(self, node: exp.DPipe) -> Bound:
        sides = self.bind(node.this), self.bind(node.expression)
        return self._call("CONCAT", sides, node)

    # Casts and parts.

    def _cast(self, node: exp.Cast) -> Bound:
        bound = self.bind(node.this)
        wanted = type_from(node.args["to"], self.types)
        return Bound(Call(PREFIX + "CAST", (bound.expression, Cast(_null(), wanted))), wanted)

    def _deref(self, node: nodes.Deref) -> Bound:
        bound = self.bind(node.this)
        name = node.args["name"].name
        if not isinstance(bound.type, Struct):
            raise SqlError(f"Expected STRUCT type, got: {sql_name(bound.type)}", at=place_of(node))
        fields = dict(bound.type.fields)
        if name not in fields:
            raise SqlError(
                f"Could not find field '{name}' in '{formatted(node.this)}'.", at=place_of(node)
            )
        return Bound(Item(bound.expression, Literal(name, STRING)), fields[name])

    def _bracket(self, node: exp.Bracket) -> Bound:
        bound, key = self.bind(node.this), self.bind(node.expressions[0])
        match bound.type:
            case Array(element=element):
                # Counted from 1, or from -1 backwards.
                return Bound(Call(PREFIX + "ELEMENT", (bound.expression, key.expression)), element)
            case Map(value=value):
                return Bound(Item(bound.expression, key.expression), value)
            case other:
                raise SqlError(
                    f"Subscript expression target must be of type ARRAY or MAP, but was {sql_name(other)}",
                    at=place_of(node),
                )

    # Calls.

    def _function(self, node: exp.Anonymous) -> Bound:
        name = str(node.this).upper()
        if name not in SQL_FUNCTIONS or SQL_FUNCTIONS[name].hidden:
            raise SqlError(f"Can't find any functions with the name '{name}'", at=place_of(node))
        function = SQL_FUNCTIONS[name]
        plain = [
            None if isinstance(arg, exp.Lambda) else self.bind(arg) for arg in node.expressions
        ]
        bound = [
            arg if arg is not None else self._lambda(node.expressions[at], function, plain, at)
            for at, arg in enumerate(plain)
        ]
        return self._call(name, bound, node)

    def _lambda(
        self, node: exp.Lambda, function: SqlFunction, others: Sequence[Bound | None], at: int
    ) -> Bound:
        """Bind a lambda, whose parameters have the types that the other arguments give them."""
        names = [name.name for name in node.expressions]
        given = tuple(other.type if other is not None else NULL for other in others)
        for signature in function.signatures:
            types = signature.types_for(len(others))
            wanted = types[at] if types else None
            if not isinstance(wanted, LambdaOf) or len(wanted.parameters) != len(names):
                continue
            found = function.parameter_types(signature, given, wanted)
            if found is None:
                continue
            parameters = tuple(map(Variable, names, found))
            known = {**(self.variables or {}), **dict(zip(names, parameters, strict=True))}
            body = Binder(self.scope, self.types, self.rule, known).bind(node.this)
            return Bound(Lambda(parameters, body.expression), LambdaOf("LAMBDA", found, body.type))
        raise self._not_accepted(function.name, [other.type for other in others if other], node)

    def _call(self, name: str, args: Sequence[Bound], node: exp.Expression) -> Bound:
        function = SQL_FUNCTIONS[name]
        types = tuple(arg.type for arg in args)
        try:
            resolved = function.resolve(types)
        except TypeMismatch:
            raise self._not_accepted(name, types, node) from None
        given = tuple(
            _as(wanted, arg) if not isinstance(wanted, LambdaOf) else arg.expression
            for arg, wanted in zip(args, resolved.arguments, strict=True)
        )
        if function.hidden:
            given = tuple(arg.expression for arg in args)
        return Bound(Call(PREFIX + name, given), resolved.result)

    def _not_accepted(self, name: str, types: Sequence[Type], node: exp.Expression) -> SqlError:
        given = ", ".join(sql_name(of) for of in types)
        return SqlError(
            f"Function '{name.lower()}' does not accept parameters ({given}).", at=place_of(node)
        )

    def _common(self, bound: Sequence[Bound], node: exp.Expression) -> Type:
        found: Type = NULL
        for one in bound:
            if found == NULL:
                found = one.type
            elif one.type != NULL:
                widest = wider(found, one.type)
                if widest is None:
                    raise SqlError(
                        "Invalid Case expression. Type for all THEN clauses should be the same.",
                        at=place_of(node),
                    )
                found = widest
        if found == NULL and isinstance(node, exp.Case):
            raise SqlError(
                "Invalid Case expression. All case branches have NULL type", at=place_of(node)
            )
        return found


def _constant(value: object, of: Type) -> Bound:
    return Bound(Literal(value, of), of)  # type: ignore[arg-type]


def _null() -> Literal:
    return Literal(None, NULL)


def _number(text: str) -> Bound:
    if "E" in text.upper():
        return _constant(float(text), DOUBLE)
    if "." in text:
        value = DecimalValue(text)
        _, digits, exponent = value.as_tuple()
        scale = -int(exponent)
        return _constant(value, Decimal(max(len(digits), scale), scale))
    number = int(text)
    return _constant(number, INT if -_INT_MAX - 1 <= number <= _INT_MAX else BIGINT)


def _as(of: Type, bound: Bound) -> Expression:
    """Return what is bound as a value of a type that it widens to."""
    return bound.expression if bound.type == of else Cast(bound.expression, of)


def _read_as_time(one: Bound, other: Bound) -> Bound:
    """Return the literal text `one` as the time that `other` is compared with; else as it is."""
    text = one.expression
    if one.type != STRING or other.type not in _TIMES or not isinstance(text, Literal):
        return one
    value = str(text.value)
    if other.type == DATE:
        return _constant(dt.date.fromisoformat(value), DATE)
    if other.type == TIME:
        at = dt.time.fromisoformat(value)
        millis = ((at.hour * 60 + at.minute) * 60 + at.second) * 1000 + at.microsecond // 1000
        return _constant(millis, TIME)
    when = dt.datetime.fromisoformat(value)
    return _constant(when if when.tzinfo else when.replace(tzinfo=dt.UTC), TIMESTAMP)


def _comparable(left: Type, right: Type, name: str) -> bool:
    if NULL in {left, right}:
        return True
    if numeric(left) and numeric(right):
        return True
    if {left, right} <= {DATE, TIMESTAMP}:
        return True
    nested = isinstance(left, Array | Map | Struct)
    return left == right and not (nested and name not in {"EQUAL", "NOT_EQUAL", "IS_DISTINCT_FROM"})


_CASES: Final[dict[type[exp.Expression], Callable[..., Bound]]] = {
    exp.Paren: lambda self, node: self.bind(node.this),
    exp.Column: Binder._column,  # noqa: SLF001 - the table of its own methods
    exp.Literal: Binder._literal,  # noqa: SLF001
    exp.Boolean: lambda _self, node: _constant(bool(node.this), BOOLEAN),
    exp.Null: lambda _self, _node: Bound(_null(), NULL),
    exp.Neg: Binder._negative,  # noqa: SLF001
    exp.And: Binder._connector,  # noqa: SLF001
    exp.Or: Binder._connector,  # noqa: SLF001
    exp.Not: Binder._not,  # noqa: SLF001
    exp.Is: Binder._is_null,  # noqa: SLF001
    exp.Between: Binder._between,  # noqa: SLF001
    exp.Like: Binder._like,  # noqa: SLF001
    exp.Escape: Binder._like,  # noqa: SLF001
    exp.Case: Binder._case,  # noqa: SLF001
    exp.Cast: Binder._cast,  # noqa: SLF001
    nodes.Deref: Binder._deref,  # noqa: SLF001
    exp.Bracket: Binder._bracket,  # noqa: SLF001
    exp.Anonymous: Binder._function,  # noqa: SLF001
    exp.DPipe: Binder._concatenated,  # noqa: SLF001
    **dict.fromkeys(COMPARISONS, Binder._comparison),  # noqa: SLF001
    **dict.fromkeys(_ARITHMETIC, Binder._arithmetic),  # noqa: SLF001
}
"""What each kind of expression means. IN, ARRAY, MAP and STRUCT follow."""
