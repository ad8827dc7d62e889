"""Functions that compute only the arguments they need, from the first on, as Spark does.

What is not needed may fail: `d.isin(1.0, x)` is true where d is 1.0, whatever becomes of x.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from duolog.testing.reference.scalars import Value, compared

Compute = Callable[[], Value]
Choice = Callable[[Sequence[Compute]], Value]


def _both(conditions: Iterable[Compute]) -> bool | None:
    """AND over any number of conditions: one false is enough, then one null."""
    found: bool | None = True
    for condition in conditions:
        value = condition()
        if value is False:
            return False
        found = None if value is None else found
    return found


def _either(conditions: Iterable[Compute]) -> bool | None:
    """OR over any number of conditions: one true is enough, then one null."""
    found: bool | None = False
    for condition in conditions:
        value = condition()
        if value is True:
            return True
        found = None if value is None else found
    return found


def _in(args: Sequence[Compute]) -> bool | None:
    value, *among = args
    given = value()
    if given is None:
        return None
    key = compared(given)

    def is_equal(other: Compute) -> bool | None:
        found = other()
        return None if found is None else compared(found) == key

    return _either(_of(is_equal, other) for other in among)


def _between(args: Sequence[Compute]) -> bool | None:
    value, low, high = args
    given = value()
    if given is None:
        return None
    key = compared(given)

    def is_above() -> bool | None:
        bound = low()
        return None if bound is None else bool(compared(bound) <= key)

    def is_below() -> bool | None:
        bound = high()
        return None if bound is None else bool(key <= compared(bound))

    return _both([is_above, is_below])


def _of(condition: Callable[[Compute], bool | None], other: Compute) -> Compute:
    return lambda: condition(other)


def _case(args: Sequence[Compute]) -> Value:
    for condition, value in zip(args[:-1:2], args[1::2], strict=False):
        if condition():
            return value()
    return args[-1]() if len(args) % 2 else None


def _coalesce(args: Sequence[Compute]) -> Value:
    return next((value for arg in args if (value := arg()) is not None), None)


CHOICES: Final[dict[str, Choice]] = {
    "AND": _both,
    "OR": _either,
    "IN": _in,
    "BETWEEN": _between,
    "CASE": _case,
    "IF": _case,
    "COALESCE": _coalesce,
}
