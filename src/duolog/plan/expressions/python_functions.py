"""Functions of users, in Python, that expressions call: `map_values(price=price)`.

    PythonFunction(price, (BIGINT, STRING), DOUBLE)        what a topology says of it
    expressions.PythonCall(function, (ColumnRef("n"), …))  where it is called

Another front end takes the same two: it says which types a function takes and gives, and puts the call where an
expression stands. How the function is called, and what becomes of a record for which it fails, is then the engine's.

A function is called in processes of its own, at least once for each record, and again where a micro-batch is done
again. It gives the same for the same arguments, or its results differ after a failure.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Literal

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions.awaiting import is_async_generator, is_coroutine, is_generator
from duolog.plan.types import BIGINT, DOUBLE, INT, NULL, Array, Type

Takes = Literal["values", "arrow", "pandas"]
"""What a function takes: the values of one record; or of many, as `pyarrow.Array`s or `pandas.Series`."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """How a function is called that waits for others: many calls at once, and each again if it fails."""

    limit: int = 100
    timeout_ms: int = 10_000
    """How long one call may take."""
    retries: int = 3
    pause_ms: int = 100
    """Before the first retry; twice as long before each next one."""

    @property
    def tries_ms(self) -> int:
        """How long one may take with all its tries and the pauses between them."""
        pauses = (1 << self.retries) - 1
        return (self.retries + 1) * self.timeout_ms + self.pause_ms * pauses

    @property
    def lasts_ms(self) -> int:
        """How long one may take, and a moment more."""
        return self.tries_ms + 5_000


@dataclass(frozen=True, slots=True)
class Gathered:
    """A parameter that is an object: a dict, or one of a class, of several arguments or of a STRUCT."""

    names: tuple[str, ...] = ()
    """Of the arguments that it gathers; none: it is one STRUCT."""
    made: type | None = None


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function, the types of the arguments that it is called with, and the one that it gives."""

    function: Callable[..., Any]
    parameters: tuple[Type | None, ...]
    """None: that of the argument, whatever it is."""
    result: Type
    takes: Takes = "values"
    lookups: Lookups | None = None
    shape: tuple[Gathered | None, ...] = ()
    """Its parameters, where they are not each one argument as it is."""

    def __post_init__(self) -> None:
        if self.lookups is None and is_coroutine(self.function):
            raise InvalidPlan(
                f"{self.called} is a coroutine function: nobody would wait for it here",
                hint="Give it to map_async, which waits for many at once; or write def.",
            )
        if is_async_generator(self.function) or (
            is_generator(self.function)
            and not (isinstance(self.result, Array) and self.takes == "values")
        ):
            raise InvalidPlan(
                f"{self.called} is a generator, and yields where one {self.result} is needed",
                hint="Return the value; several records of one are made by flat_map, from a list.",
            )

    def __str__(self) -> str:
        return self.called

    @property
    def called(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__qualname__", type(self.function).__name__).rpartition(
            "<locals>."
        )[2]

    @property
    def place(self) -> str:
        """The file and line where it is written, `shop.py:12`; empty where nobody knows."""
        code = code_of(self.function)
        if code is None:
            return ""
        return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}"

    def ensure_takes(self, given: tuple[Type, ...]) -> None:
        """Raise a StatementError where arguments of these types are not what it takes."""
        fits = len(given) == len(self.parameters) and all(
            wanted is None or _fits(one, wanted)
            for one, wanted in zip(given, self.parameters, strict=True)
        )
        if not fits:
            raise TypeMismatch(
                f"{self.called} does not take {_listed(given)}",
                detail=f"It takes {_listed(self.parameters)}.",
                hint="A parameter's annotation says what it takes; cast(...) makes a column fit.",
            )

    def over(self, given: tuple[Type, ...]) -> "PythonFunction":
        """Return the function with all types of its arguments, which are then known."""
        known = tuple(wanted or one for one, wanted in zip(given, self.parameters, strict=True))
        return self if known == self.parameters else replace(self, parameters=known)


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function, of what a partial calls, or of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    for one in (function, inspect.unwrap(type(function).__call__)):
        code = getattr(one, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _fits(given: Type, wanted: Type) -> bool:
    wider = {INT: (BIGINT, DOUBLE), BIGINT: (DOUBLE,)}
    return given in {wanted, NULL} or wanted in wider.get(given, ())


def _listed(types: tuple[Type | None, ...]) -> str:
    return f"({', '.join('any' if of is None else str(of) for of in types)})"
