"""Records without a value, in the clauses of a stream.

    WHERE          drops them, whatever its condition says of nulls
    PARTITION BY   gives them a null for a key that reads their value, or what ksqlDB keeps in it: ROWTIME, ROWPARTITION,
                   ROWOFFSET and headers; an expression of the key, or of constants, is computed

A value that is null has null columns, so it cannot be told from a row of nulls by them. Where it matters a column is put
beside the others that is true in each row.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from duolog.ksql.query.sources import Relation
from duolog.ksql.query.steps import Steps, unused
from duolog.plan.expressions import (
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Metadata,
    Named,
    RowTime,
    column_names,
    literal,
    walk,
)
from duolog.plan.nodes import Node, Project
from duolog.plan.sql.registry import PREFIX

_FALSE_OF_NULL: Final = frozenset(
    PREFIX + name
    for name in (
        "EQUAL",
        "NOT_EQUAL",
        "LESS_THAN",
        "LESS_THAN_OR_EQUAL",
        "GREATER_THAN",
        "GREATER_THAN_OR_EQUAL",
        "LIKE",
    )
)
_NULL_OF_NULL: Final = frozenset(
    PREFIX + name for name in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MODULUS", "CAST")
)


@dataclass
class Presence:
    """Adds the column that tells rows from nulls, once, when somebody asks for it."""

    relation: Relation
    steps: Steps

    def where(self, predicate: Expression) -> tuple[Relation, Expression]:
        """Return a condition that no record without a value meets, and the records that it is of."""
        node = self.relation.node
        if not node.is_table and not _false_of_null(predicate, self._value_names):
            predicate = Call("AND", (self._mark, predicate))
        return self.relation, predicate

    def of_value(self, key: Expression) -> Expression:
        """Return a key that is null where it reads a value that is not there."""
        reads_value = bool(column_names(key) & self._value_names)
        beside = any(isinstance(part, RowTime | Metadata) for part in walk(key))
        if isinstance(key, ColumnRef) or not (reads_value or beside):
            return key
        if _null_of_null(key, self._value_names):
            return key
        return Call("CASE", (self._mark, key))

    @property
    def _value_names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.relation.node.schema.value)

    @cached_property
    def _mark(self) -> ColumnRef:
        """The column that is true in each row."""
        marked, mark = with_mark(self.relation.node, self.steps)
        self.relation = replace(self.relation, node=marked)
        return mark


def with_mark(node: Node, steps: Steps) -> tuple[Node, ColumnRef]:
    """Return records with a column more, and that column: it is true in each row, and null without a value."""
    name = unused("there", set(node.schema.names))
    values: list[Named] = [(one.name, ColumnRef(one.name)) for one in node.schema.value]
    values.append((name, literal(value=True)))
    return steps.add("rows", lambda own: Project(own, node, tuple(values))), ColumnRef(name)


def _false_of_null(predicate: Expression, names: frozenset[str]) -> bool:
    match predicate:
        case Call("AND", args):
            return any(_false_of_null(arg, names) for arg in args)
        case Call("OR", args):
            return all(_false_of_null(arg, names) for arg in args)
        case Call("NOT", (Call("IS_NULL", (arg,)),)):
            return _null_of_null(arg, names)
        case Call(function, args) if function in _FALSE_OF_NULL:
            return any(_null_of_null(arg, names) for arg in args)
        case _:
            return False


def _null_of_null(expression: Expression, names: frozenset[str]) -> bool:
    match expression:
        case ColumnRef(name):
            return name in names
        case Cast(arg, _) | Item(arg, _):
            return _null_of_null(arg, names)
        case Call(function, args) if function in _NULL_OF_NULL:
            return any(_null_of_null(arg, names) for arg in args)
        case _:
            return False
