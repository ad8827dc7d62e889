"""Walks through the parts of an expression, and replaces parts."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from duolog.plan.expressions.expressions import (
    Aggregate,
    Call,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Lambda,
    PythonCall,
)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all of its parts, itself first."""
    yield expression
    match expression:
        case Cast(arg, _):
            yield from walk(arg)
        case Call(_, args) | PythonCall(_, args):
            for arg in args:
                yield from walk(arg)
        case Item(arg, key):
            yield from walk(arg)
            yield from walk(key)
        case Lambda(_, body):
            yield from walk(body)
        case Aggregate(_, arg, others) if arg is not None:
            for one in (arg, *others):
                yield from walk(one)
        case _:
            pass


def rewrite(  # noqa: PLR0911 - a table of cases
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Return the expression after replacing each part for which `change` returns another one.

    The parts of a replacement are not visited.
    """
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Cast(arg, of):
            return Cast(rewrite(arg, change), of)
        case Call(function, args):
            return Call(function, tuple(rewrite(arg, change) for arg in args))
        case PythonCall(_, args):
            return replace(expression, args=tuple(rewrite(arg, change) for arg in args))
        case Item(arg, key):
            return Item(rewrite(arg, change), rewrite(key, change))
        case Lambda(parameters, body):
            return Lambda(parameters, rewrite(body, change))
        case Aggregate(_, arg, others) if arg is not None:
            changed_others = tuple(rewrite(one, change) for one in others)
            return replace(expression, arg=rewrite(arg, change), others=changed_others)
        case _:
            return expression


def column_names(expression: Expression) -> frozenset[str]:
    """Return the names of the record's columns that the expression reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, ColumnRef))
