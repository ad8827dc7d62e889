"""Values of JSON as expressions of SQL, for rows of /inserts-stream.

    {"n": 1, "raw": "AP8="}     INSERT INTO s (n, raw) VALUES (1, TO_BYTES('AP8=', 'base64'))

The syntax trees are those of the statement in text, and are made without it: to parse it took two
thirds of the time of a row.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.plan.types import BYTES, Array, Map, Struct, Type
from duolog.server.failures import bad_request

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED: Final = re.compile(r"`[^`]+`")
_EXPONENT_MAX: Final = 400
"""Of numbers. Those of DOUBLE are smaller, and `1e999999999` has a billion digits in SQL."""
_BIGINT_MAX: Final = 2**63 - 1


def insert_of(
    target: str, values: Mapping[str, Any], types: Mapping[str, Type]
) -> nodes.InsertValues:
    """Return the statement that inserts a row; without values, each column is null.

    Raises:
        RequestRefused: a value is not one of its column.
        SqlError: a whole number is out of the range of BIGINT.
    """
    # Columns that do not exist are refused by the statement.
    written = [value_of(value, types.get(name)) for name, value in values.items()]
    names = [_identifier(name) for name in values]
    return nodes.InsertValues(this=_identifier(target), columns=names, expressions=written)


def value_of(value: Any, of: Type | None) -> exp.Expression:  # noqa: PLR0911 - a table of cases
    """Return a value of JSON as an expression; raises as `insert_of`."""
    match of, value:
        case _, None:
            return exp.Null()
        case _, bool():
            return exp.Boolean(this=value)
        case _, int():
            if not -_BIGINT_MAX - 1 <= value <= _BIGINT_MAX:
                raise SqlError(f"Failed to prepare statement: Invalid numeric literal: {value}")
            return _number(str(value))
        case _, Decimal():
            if abs(value.adjusted()) > _EXPONENT_MAX:
                raise bad_request(f"The number {value:.1E} is out of range")
            return _number(f"{value:f}")
        case _, str() if of == BYTES:
            return exp.Anonymous(this="TO_BYTES", expressions=[_text(value), _text("base64")])
        case _, str():
            return _text(value)
        case Array(element=element), list():
            return exp.Array(expressions=[value_of(one, element) for one in value])
        case Map(value=inner), dict():
            entries = [_assigned(_text(name), value_of(one, inner)) for name, one in value.items()]
            return nodes.MapOf(expressions=entries)
        case Struct(fields=fields), dict():
            given = {name_of(name): one for name, one in value.items()}
            parts = [
                _assigned(_identifier(one.name), value_of(given.get(one.name), one.type))
                for one in fields
            ]
            return nodes.StructOf(expressions=parts)
        case _:
            raise bad_request(f"Can't coerce a field of type {type(value).__name__} to {of}")


def name_of(written: str) -> str:
    """Return the name that a client means: in upper case unless it is quoted with backquotes.

    Raises:
        RequestRefused: it is not a name.
    """
    if _QUOTED.fullmatch(written):
        return written[1:-1]
    if not _WORD.fullmatch(written):
        raise bad_request(f"Not a name: {written!r}. Quote it with backquotes.")
    return written.upper()


def _number(text: str) -> exp.Expression:
    digits = exp.Literal(this=text.removeprefix("-"), is_string=False)
    return exp.Neg(this=digits) if text.startswith("-") else digits


def _text(value: str) -> exp.Literal:
    return exp.Literal(this=value, is_string=True)


def _identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def _assigned(name: exp.Expression, value: exp.Expression) -> nodes.Assigned:
    return nodes.Assigned(this=name, expression=value)
