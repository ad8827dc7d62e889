"""User-defined SQL functions in Python, as a plan refers to them.

    UserFunction   a name, its overloads, and its origin
    Overload       one way to call it, by its signature
    Code           its Python code, which may be missing or replaced
    Routine        one call in a plan: an overload with concrete types, and the step to call

An aggregate has several steps, which work on its state: `initialize`, `aggregate`, `undo`, `merge`,
`map`. A scalar function has one step, and so has a table function, which returns its rows as an
ARRAY.

A parameter that does not accept None is never called with it: the result of a scalar function is
then null, and an aggregate ignores the value. Source: ksqlDB's documentation of user-defined
functions, which treats parameters of primitive types like this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from duolog.core.callables import AnyFunction
from duolog.core.errors import StatementError
from duolog.core.exception_text import describe_exception
from duolog.plan.sql.signatures import Signature, SqlFunction, Types
from duolog.plan.sql.user_values import from_python, to_python
from duolog.plan.types import Type

Kind = Literal["scalar", "aggregate", "table"]
Step = Literal["call", "initialize", "aggregate", "undo", "merge", "map"]
PartT = TypeVar("PartT")

FAMILIES: Final[dict[Kind, str]] = {"scalar": "OTHER", "aggregate": "AGGREGATE", "table": "TABLE"}
"""The family that SHOW FUNCTIONS reports for a function without one."""
_NULL_WHERE_IT_FAILS: Final = ("call", "map")


class FunctionFailed(Exception):
    """A user-defined function raised or returned an invalid value: text with name, line, cause."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function, with everything that a plan depends on."""

    signature: Signature
    """An aggregate's columns, then its constants. A table function's result is a row's type."""
    nullable: tuple[bool, ...]
    """For each parameter, True if it accepts None."""
    constants: int = 0
    """For an aggregate: how many of the last parameters are constants, passed to its class."""
    state: Type | None = None
    """For an aggregate: the type of its state for a group."""
    steps: tuple[Step, ...] = ("call",)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The Python code of an overload; loading a module again creates a new one."""

    called: AnyFunction
    """The function, or the class of an aggregate."""
    annotations: tuple[object, ...]
    """The annotations of the parameters, in order: arguments become annotated dataclasses."""
    state_annotation: object = None
    place: str = ""
    """The source line of its definition: `scoring.py:12`."""


class Code:
    """The Python code of a function, by overload; replaceable at any time. Threads: any."""

    def __init__(self, bodies: Mapping[Overload, Body], missing: str = "") -> None:
        self._bodies = dict(bodies)
        self._missing = missing
        self._later: Code | None = None

    @property
    def missing(self) -> str:
        """The reason why it cannot be called; empty if it can."""
        return self._now._missing  # noqa: SLF001 - one of its own kind

    def body(self, overload: Overload) -> Body | None:
        """Return the current code of an overload."""
        return self._now._bodies.get(overload)  # noqa: SLF001 - as above

    @property
    def is_replaced(self) -> bool:
        """True if other code has replaced it."""
        return self._later is not None

    def give_way(self, later: "Code") -> None:
        """Replace it by `later` for all plans that refer to it."""
        if later is not self._now:
            self._now._later = later  # noqa: SLF001 - as above

    def __reduce__(self) -> tuple[object, ...]:
        # Another process receives the current code.
        return Code, (self._now._bodies, self._now._missing)  # noqa: SLF001 - as above

    @property
    def _now(self) -> "Code":
        found = self
        while found._later is not None:
            found = found._later
        return found


NO_CODE: Final = Code({})


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function by its name in SQL."""

    name: str
    kind: Kind
    origin: str
    """`module:name`, as in CREATE FUNCTION."""
    overloads: tuple[Overload, ...]
    code: Code = field(default=NO_CODE, compare=False)
    description: str = field(default="", compare=False)
    family: str = field(default="", compare=False)
    revision: int = 0
    """The number of times that it was replaced."""

    @property
    def function(self) -> SqlFunction:
        """The function for the binder, which resolves calls by signature."""
        return SqlFunction(
            self.name,
            self.family or FAMILIES[self.kind],
            self.description,
            tuple(one.signature for one in self.overloads),
        )

    def overload_of(self, signature: Signature) -> int:
        """Return the index of the overload that has this signature."""
        return next(at for at, one in enumerate(self.overloads) if one.signature is signature)

    def __deepcopy__(self, _memo: object) -> "UserFunction":
        return self  # Statements are copied; the functions that they call are shared.


@dataclass(frozen=True, slots=True)
class Routine:
    """A call of a function in a plan: overload, step, and the types of arguments and result."""

    function: UserFunction
    number: int
    step: Step
    arguments: Types
    result: Type
    constants: tuple[object, ...] = ()
    """The arguments of an aggregate's constructor."""
    _kept: "list[tuple[Body | None, Bound]]" = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """The latest binding and its code. A search that compares routines costs more than a call."""

    def __reduce__(self) -> tuple[object, ...]:
        said = (self.function, self.number, self.step, self.arguments, self.result, self.constants)
        return Routine, said

    @property
    def name(self) -> str:
        """The name in texts of a plan: `SCORE`, or `SCORE.merge` for a step of an aggregate."""
        return self.function.name if self.step == "call" else f"{self.function.name}.{self.step}"

    @property
    def overload(self) -> Overload:
        return self.function.overloads[self.number]

    @property
    def body(self) -> Body | None:
        """The current code; None if it is missing."""
        return self.function.code.body(self.overload)

    def __str__(self) -> str:
        given = f"({', '.join(map(repr, self.constants))})" if self.constants else ""
        return f"{self.name}{given}"

    def __call__(self, *values: object) -> object:
        """Return the result for row values, as `bound` does, but null if a step of a row fails.

        The result is therefore the same whether it is called alone or for many records, and in any
        expression.

        Raises:
            FunctionFailed: a step with state raises or returns an invalid value. Its record fails.
        """
        try:
            return self.called_with(values)
        except FunctionFailed:
            if self.is_null_where_it_fails:
                return None
            raise

    @property
    def is_null_where_it_fails(self) -> bool:
        """True if it is a step of a row: the row continues with null if it fails."""
        return self.step in _NULL_WHERE_IT_FAILS

    def called_with(self, values: Sequence[object]) -> object:
        """Return the result for values in row form.

        Raises:
            FunctionFailed: it raises or returns an invalid value.
        """
        body = self.body
        if not self._kept or self._kept[0][0] is not body:
            self._kept[:] = [(body, self.bound())]
        return self._kept[0][1](values)

    def __getattr__(self, name: str) -> str:
        # Plans and errors ask every function for its name.
        if name == "__qualname__":
            return self.name
        raise AttributeError(name)

    def bound(self) -> "Bound":
        """Return a callable that computes the result from arguments in row form.

        Raises:
            StatementError: the module of the function is not available.
        """
        body = self.body
        if self.function.code.missing or body is None:
            raise missing_function(self.function)
        called = body.called
        if self.function.kind == "aggregate":
            called = getattr(called(*self.constants), self.step)
        return Bound(self, body, called)


class Bound:
    """A routine with conversions of arguments and result, and its arguments that are not null."""

    def __init__(self, routine: Routine, body: Body, called: AnyFunction) -> None:
        self._routine = routine
        self._body = body
        self._called = called
        types, annotations, nullable = routine.arguments, self._annotations(), self._nullable()
        self._taken = [to_python(of, said) for of, said in zip(types, annotations, strict=True)]
        self._as_they_are = not any(self._taken)
        self._strict = [at for at, may in enumerate(nullable) if not may]
        self._given = from_python(routine.result)
        self._rows = routine.function.kind == "table"
        # The state of an aggregate is unchanged if a value is ignored.
        self._passed_over = routine.step in {"aggregate", "undo"}

    def __call__(self, values: Sequence[object]) -> object:
        for at in self._strict:
            if values[at] is None:
                return values[0] if self._passed_over else None
        try:
            args = values if self._as_they_are else self._converted(values)
            found = self._called(*args)
            if self._rows and found is not None:
                found = list(found)
            return None if found is None else self._given(found)
        except Exception as error:
            raise FunctionFailed(self._described(error)) from error

    def _converted(self, values: Sequence[object]) -> list[object]:
        return [
            value if take is None or value is None else take(value)
            for take, value in zip(self._taken, values, strict=True)
        ]

    def _annotations(self) -> tuple[object, ...]:
        """Return the annotation of each argument of the step."""
        routine, overload = self._routine, self._routine.overload
        kept, columns = self._body.state_annotation, self._body.annotations
        match routine.step:
            case "initialize":
                return ()
            case "merge":
                return kept, kept
            case "map":
                return (kept,)
            case "aggregate" | "undo":
                return kept, *_of_columns(columns, overload, len(routine.arguments) - 1)
            case _:
                return _spread(columns, overload.signature, len(routine.arguments))

    def _nullable(self) -> tuple[bool, ...]:
        routine, overload = self._routine, self._routine.overload
        match routine.step:
            case "call":
                return _spread(overload.nullable, overload.signature, len(routine.arguments))
            case "aggregate" | "undo":
                return True, *_of_columns(overload.nullable, overload, len(routine.arguments) - 1)
            case _:
                return (True,) * len(routine.arguments)

    def _described(self, error: Exception) -> str:
        line = _line_in(error, self._body.called) or self._body.place
        at = f" ({line})" if line else ""
        return f"{self._routine.name}{at}: {describe_exception(error)}"


def missing_function(function: UserFunction) -> StatementError:
    """Return the error for a function whose module is not available."""
    return StatementError(
        f'function "{function.name}" from "{function.origin}" cannot be called',
        detail=function.code.missing,
        hint="Make its module available to the engine and restart, or use CREATE OR REPLACE "
        "FUNCTION.",
    )


def _of_columns(of: tuple[PartT, ...], overload: Overload, count: int) -> tuple[PartT, ...]:
    """Return one item of `of` for each of `count` columns of an aggregate, without constants."""
    return _spread(of, overload.signature, count + overload.constants)[:count]


def _spread(of: tuple[PartT, ...], signature: Signature, count: int) -> tuple[PartT, ...]:
    """Return one item of `of` per argument, for `count`; a variadic parameter may take several."""
    if not signature.variadic:
        return of[:count]
    at = len(signature.parameters) - 1 - signature.trailing
    times = count - at - signature.trailing
    return of[:at] + of[at : at + 1] * times + of[at + 1 :]


def _line_in(error: Exception, body: object) -> str:
    """Return the last line of the function's own module in a traceback; empty if there is none."""
    module = getattr(body, "__module__", None)
    found = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == module:
            file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
            found = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
