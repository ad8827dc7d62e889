"""The vocabulary of a session: its catalog, queries, settings and variables.

Secrets are left out: of a setting that may be one, only the name is known.
"""

from collections.abc import Iterable, Mapping

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn
from duolog.ksql.editor.vocabulary import NamedColumn, NamedFunction, NamedSource, Vocabulary
from duolog.ksql.expressions.function_errors import type_written, written
from duolog.ksql.settings import is_secret, session_properties
from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax.types import sql_name
from duolog.plan.sql.signatures import SqlFunction
from duolog.plan.sql.user_functions import UserFunction
from duolog.plan.types import Array, Map, Struct, Type

_NESTED_MAX = 8
"""Levels of fields below a column."""


def vocabulary_of(state: SessionState) -> Vocabulary:
    """Return the names that statements of a session may use."""
    catalog = state.catalog
    return Vocabulary(
        {name: _source(one) for name, one in sorted(catalog.sources.items())},
        tuple(_functions(catalog.functions)),
        tuple(sorted(state.queries)),
        tuple(sorted(name for name in catalog.partitions if not name.startswith("__"))),
        tuple(sorted(catalog.types)),
        {
            name: "" if is_secret(name) else state.settings[name] or ""
            for name in session_properties()
        },
        dict(sorted(state.variables.items())),
    )


def _source(source: SourceInfo) -> NamedSource:
    columns = tuple(_column(one) for one in source.columns)
    return NamedSource(source.name, source.kind, columns, source.topic_names)


def _column(column: SqlColumn) -> NamedColumn:
    role = "" if column.role == "VALUE" else column.role
    return NamedColumn(column.name, sql_name(column.type), role, _fields(column.type))


def _fields(of: Type, depth: int = 0) -> tuple[NamedColumn, ...]:
    match of:
        case Array(element=inner) | Map(value=inner):
            return _fields(inner, depth)
        case Struct(fields=fields) if depth < _NESTED_MAX:
            return tuple(
                NamedColumn(one.name, sql_name(one.type), fields=_fields(one.type, depth + 1))
                for one in fields
            )
        case _:
            return ()


def _functions(of_users: Mapping[str, UserFunction]) -> Iterable[NamedFunction]:
    yield from _BUILT_IN
    for one in of_users.values():
        yield _function(one.function)


def _function(function: SqlFunction) -> NamedFunction:
    signatures = tuple(
        f"{written(function.name, one)} → {type_written(one.result)}" for one in function.signatures
    )
    return NamedFunction(function.name, function.family, function.description, signatures)


_BUILT_IN = tuple(map(_function, FUNCTIONS.values()))
