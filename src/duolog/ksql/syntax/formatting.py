"""Format expressions as ksqlDB's error messages quote them: (A + 1), SUM(VALUE), 'text'."""

import re
from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.types import sql_name, type_from
from duolog.ksql.syntax.words import RESERVED
from duolog.plan.types import Type

_PLAIN: Final = re.compile(r"[A-Z_@][A-Z0-9_@]*\Z")
SIGNS: Final[Mapping[type[exp.Expression], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


class _AsWritten(dict[str, Type]):
    """Resolves every custom type to a type of the same name, without looking it up."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Type:
        return Type(name)


def quoted_name(name: str) -> str:
    """Return a name, in backquotes if it needs them."""
    return name if _PLAIN.match(name) and name not in RESERVED else f"`{name}`"


def formatted(node: exp.Expression) -> str:  # noqa: PLR0911, PLR0912 - a table of cases
    """Return an expression as error messages quote it."""
    match node:
        case exp.Column():
            name = "*" if isinstance(node.this, exp.Star) else quoted_name(node.name)
            return f"{quoted_name(node.table)}.{name}" if node.table else name
        case exp.Identifier():
            return quoted_name(node.name)
        case exp.Star():
            return "*"
        case exp.Literal():
            return "'" + node.name.replace("'", "''") + "'" if node.is_string else node.name
        case exp.Boolean():
            return str(node.this).lower()
        case exp.Null():
            return "null"
        case exp.Paren():
            return formatted(node.this)
        case exp.Neg():
            return f"-{formatted(node.this)}"
        case exp.Not():
            return f"(NOT {formatted(node.this)})"
        case exp.Is():
            return f"({formatted(node.this)} IS NULL)"
        case exp.Between():
            low, high = formatted(node.args["low"]), formatted(node.args["high"])
            return f"({formatted(node.this)} BETWEEN {low} AND {high})"
        case exp.In() if not node.args.get("query"):
            return f"({formatted(node.this)} IN ({_listed(node.expressions)}))"
        case exp.Escape():
            return f"({formatted(node.this)[1:-1]} ESCAPE {formatted(node.expression)})"
        case exp.Like():
            return f"({formatted(node.this)} LIKE {formatted(node.expression)})"
        case exp.Cast():
            return (
                f"CAST({formatted(node.this)} AS "
                f"{sql_name(type_from(node.args['to'], _AsWritten()))})"
            )
        case exp.Case():
            return _case(node)
        case exp.If():
            return f"WHEN {formatted(node.this)} THEN {formatted(node.args['true'])}"
        case exp.Distinct():
            return f"DISTINCT {_listed(node.expressions)}"
        case exp.Anonymous():
            return f"{str(node.this).upper()}({_listed(node.expressions)})"
        case exp.Bracket():
            return f"{formatted(node.this)}[{_listed(node.expressions)}]"
        case nodes.Deref():
            return f"{formatted(node.this)}->{formatted(node.args['name'])}"
        case exp.Array():
            return f"ARRAY[{_listed(node.expressions)}]"
        case nodes.StructOf():
            return f"STRUCT({_listed(node.expressions)})"
        case nodes.MapOf():
            return f"MAP({_listed(node.expressions)})"
        case nodes.Assigned():
            return f"{formatted(node.this)}:={formatted(node.expression)}"
        case exp.Lambda():
            names = ", ".join(name.name for name in node.expressions)
            return f"({names}) => {formatted(node.this)}"
        case exp.DPipe():
            return f"({formatted(node.this)} || {formatted(node.expression)})"
        case exp.Binary():
            sign = SIGNS[type(node)]
            return f"({formatted(node.this)} {sign} {formatted(node.expression)})"
        case _:
            return _of_rows(node)


def _of_rows(node: exp.Expression) -> str:
    """Format expressions that only pull and push queries may contain; abbreviate subqueries."""
    match node:
        case exp.Query():
            return "(SELECT …)"
        case exp.Exists():
            return "EXISTS (SELECT …)"
        case exp.Window():
            return f"{formatted(node.this)} OVER (…)"
        case exp.Filter():
            return f"{formatted(node.this)} FILTER (…)"
        case exp.In():
            return f"({formatted(node.this)} IN (SELECT …))"
        case _:
            raise AssertionError(type(node))


def _listed(found: list[exp.Expression]) -> str:
    return ", ".join(map(formatted, found))


def _case(node: exp.Case) -> str:
    operand = f" {formatted(node.this)}" if node.this else ""
    arms = "".join(f" {formatted(arm)}" for arm in node.args["ifs"])
    default = node.args.get("default")
    otherwise = f" ELSE {formatted(default)}" if default else ""
    return f"(CASE{operand}{arms}{otherwise} END)"
