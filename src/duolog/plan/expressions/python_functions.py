"""Users' Python functions, called by expressions: `map_values(price=price)`.

    PythonFunction(price, (BIGINT, STRING), DOUBLE)        the declaration in a topology
    expressions.PythonCall(function, (ColumnRef("n"), …))  the call

Another front end needs only these two: it declares the types of arguments and result, and places
the call in an expression. The engine calls the function and handles records for which it fails.

A function runs in its own processes. It is called at least once per record, and again if a
micro-batch is repeated. It must return the same result for the same arguments, or results differ
after a failure.
"""

import functools
import inspect
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Literal

from duolog.core.callables import AnyFunction
from duolog.plan.awaiting import is_async_generator, is_coroutine, is_generator
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.types import BIGINT, DOUBLE, INT, NULL, Array, Type

Takes = Literal["values", "arrow", "pandas"]
"""The arguments of a function: values of one record, or Arrow arrays or pandas series of many."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """Settings of an asynchronous look-up: concurrent calls, timeout and retries."""

    limit: int = 100
    timeout_ms: int = 10_000
    """The timeout of one call."""
    retries: int = 3
    pause_ms: int = 100
    """The pause before the first retry. It doubles before each further one."""

    @property
    def tries_ms(self) -> int:
        """The maximum duration of a look-up, including all retries and pauses."""
        pauses = (1 << self.retries) - 1
        return (self.retries + 1) * self.timeout_ms + self.pause_ms * pauses

    @property
    def lasts_ms(self) -> int:
        """The longest duration of a look-up, with a margin."""
        return self.tries_ms + 5_000


@dataclass(frozen=True, slots=True)
class Gathered:
    """A parameter for an object: a dict or class instance, of several arguments or a STRUCT."""

    names: tuple[str, ...] = ()
    """The names of the arguments in it; empty for a single STRUCT."""
    made: type | None = None


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function, the types of its arguments, and the type of its result."""

    function: AnyFunction
    parameters: tuple[Type | None, ...]
    """None accepts an argument of any type."""
    result: Type
    takes: Takes = "values"
    lookups: Lookups | None = None
    shape: tuple[Gathered | None, ...] = ()
    """Its parameters, unless each is one argument as it is."""

    def __post_init__(self) -> None:
        if self.lookups is None and is_coroutine(self.function):
            raise InvalidPlan(
                f"{self.called} is a coroutine function, which is not awaited here",
                hint="Use map_async, which awaits it; or write def.",
            )
        if is_async_generator(self.function) or (
            is_generator(self.function)
            and not (isinstance(self.result, Array) and self.takes == "values")
        ):
            raise InvalidPlan(
                f"{self.called} is a generator function, but must return one {self.result}",
                hint="Return the value. To create several records, return a list in flat_map.",
            )

    def __str__(self) -> str:
        return self.called

    @property
    def called(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__qualname__", type(self.function).__name__).rpartition(
            "<locals>."
        )[2]

    @property
    def place(self) -> str:
        """The file and line of its definition, `shop.py:12`; empty if unknown."""
        code = code_of(self.function)
        if code is None:
            return ""
        return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}"

    def ensure_takes(self, given: tuple[Type, ...]) -> None:
        """Raise a StatementError if it does not accept arguments of these types."""
        fits = len(given) == len(self.parameters) and all(
            wanted is None or _fits(one, wanted)
            for one, wanted in zip(given, self.parameters, strict=True)
        )
        if not fits:
            raise TypeMismatch(
                f"{self.called} does not take {_listed(given)}",
                detail=f"It takes {_listed(self.parameters)}.",
                hint="Change the annotation of the parameter, or cast the column: .cast(...).",
            )

    def over(self, given: tuple[Type, ...]) -> "PythonFunction":
        """Return the function with the types of all its parameters filled in from the arguments."""
        known = tuple(wanted or one for one, wanted in zip(given, self.parameters, strict=True))
        return self if known == self.parameters else replace(self, parameters=known)


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function, of a partial's function, or of a callable object."""
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
