"""The type of a function's lowering."""

from collections.abc import Callable, Sequence

from duolog.plan.types import Type

Lowering = Callable[[Sequence[str], Sequence[Type], Type], str]
"""Takes the arguments as Spark SQL, their types and the result's type; returns Spark SQL."""


def plain(template: str) -> Lowering:
    """Lower to a function that Spark has too: `{0}` is the first argument, `{all}` all of them."""
    return lambda args, _types, _result: template.format(*args, all=", ".join(args))
