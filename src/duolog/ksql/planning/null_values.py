"""Records with a null value, in the clauses of a stream.

    WHERE          drops them, even if the condition accepts nulls
    PARTITION BY   null for a key that reads the value or metadata; other keys are computed

The columns of a null value are null, so they do not distinguish it from a row of nulls. Where the
difference matters, a marker column is added that is true for each row.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from duolog.ksql.planning.sources import Relation
from duolog.ksql.planning.steps import Steps, unused
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
    """Adds the marker column, once, when it is first needed."""

    relation: Relation
    steps: Steps

    def where(self, predicate: Expression) -> tuple[Relation, Expression]:
        """Return the records, and a condition that is false for records with a null value."""
        node = self.relation.node
        if not node.is_table and not _false_of_null(predicate, self._value_names):
            predicate = Call("AND", (self._mark, predicate))
        return self.relation, predicate

    def of_value(self, key: Expression) -> Expression:
        """Return a key that is null if it reads a null value."""
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
        """The marker column."""
        marked, mark = with_mark(self.relation.node, self.steps)
        self.relation = replace(self.relation, node=marked)
        return mark


def with_mark(node: Node, steps: Steps) -> tuple[Node, ColumnRef]:
    """Add a marker column, which is true for each row and null for a null value."""
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
