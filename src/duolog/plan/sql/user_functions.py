"""Functions of a user's, written in Python, as a plan knows them: what they take and give, and what is called.

    UserFunction   a name, its overloads, and where it comes from
    Overload       one way to call it, by its signature
    Code           the Python that is behind it, which may be missing, and replaced
    Routine        one call in a plan: an overload for types that are known, and which step of it

An aggregate has several steps, which are routines over what it keeps: `initialize`, `aggregate`, `undo`, `merge`, `map`. A scalar
function has one, and so has a table function, whose rows are an ARRAY.

A parameter that may not be None is never called with one: the result of a scalar function is null then, and an aggregate
passes the value over. Source: ksqlDB's documentation of user-defined functions, where parameters of primitive types do so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from duolog.core.errors import StatementError
from duolog.core.raised import raised
from duolog.plan.sql.signatures import Signature, SqlFunction, Types
from duolog.plan.sql.user_values import from_python, to_python
from duolog.plan.types import Type

Kind = Literal["scalar", "aggregate", "table"]
Step = Literal["call", "initialize", "aggregate", "undo", "merge", "map"]

FAMILIES: Final[dict[Kind, str]] = {"scalar": "OTHER", "aggregate": "AGGREGATE", "table": "TABLE"}
"""What SHOW FUNCTIONS says of a function that says nothing itself."""
_NULL_WHERE_IT_FAILS: Final = ("call", "map")


class FunctionFailed(Exception):
    """A function of a user's has raised, or has given what it may not; the text names it, its line and what was wrong."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function, as far as a plan depends on it."""

    signature: Signature
    """Of an aggregate: the columns, then the constants; of a table function the result is the type of a row."""
    nullable: tuple[bool, ...]
    """For each parameter, whether it may be called with None."""
    constants: int = 0
    """Of an aggregate: how many of the last parameters are constants, which its class is made with."""
    state: Type | None = None
    """Of an aggregate: the type of what it keeps for a group."""
    steps: tuple[Step, ...] = ("call",)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The Python behind an overload; what was read again is another one."""

    called: Callable[..., Any]
    """The function, or the class of an aggregate."""
    annotations: tuple[Any, ...]
    """How the parameters are annotated, in their order: dataclasses are made for those that say so."""
    state_annotation: Any = None
    place: str = ""
    """Where it is written: `scoring.py:12`."""


class Code:
    """The Python behind a function, by its overloads. It may be replaced while plans hold it; Threads: any."""

    def __init__(self, bodies: Mapping[Overload, Body], missing: str = "") -> None:
        self._bodies = dict(bodies)
        self._missing = missing
        self._later: Code | None = None

    @property
    def missing(self) -> str:
        """Why it cannot be called; empty where it can."""
        return self._now._missing  # noqa: SLF001 - one of its own kind

    def body(self, overload: Overload) -> Body | None:
        """Return what is called now."""
        return self._now._bodies.get(overload)  # noqa: SLF001 - as above

    @property
    def is_replaced(self) -> bool:
        """Whether another one is called in its place."""
        return self._later is not None

    def give_way(self, later: "Code") -> None:
        """Let whoever holds this call another one from now on."""
        if later is not self._now:
            self._now._later = later  # noqa: SLF001 - as above

    def __reduce__(self) -> tuple[Any, ...]:
        # What is sent to another process is what is called now.
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
    """A function by its name in the language."""

    name: str
    kind: Kind
    origin: str
    """`module:name`, as CREATE FUNCTION has it."""
    overloads: tuple[Overload, ...]
    code: Code = field(default=NO_CODE, compare=False)
    description: str = field(default="", compare=False)
    family: str = field(default="", compare=False)
    revision: int = 0
    """How often it was replaced."""

    @property
    def function(self) -> SqlFunction:
        """It as the binder resolves calls: overloads by their signatures."""
        return SqlFunction(
            self.name,
            self.family or FAMILIES[self.kind],
            self.description,
            tuple(one.signature for one in self.overloads),
        )

    def overload_of(self, signature: Signature) -> int:
        """Return the number of the overload that has this signature."""
        return next(at for at, one in enumerate(self.overloads) if one.signature is signature)

    def __deepcopy__(self, _memo: object) -> "UserFunction":
        return self  # Statements are copied, and what they call is not theirs.


@dataclass(frozen=True, slots=True)
class Routine:
    """One call of a function in a plan: which step of which overload, and the types that it is called with."""

    function: UserFunction
    number: int
    step: Step
    arguments: Types
    result: Type
    constants: tuple[object, ...] = ()
    """What the class of an aggregate is made with."""
    _kept: "list[tuple[Body | None, Bound]]" = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """What was bound last, and of which code: to look it up by what it is would cost more than most calls."""

    def __reduce__(self) -> tuple[Any, ...]:
        said = (self.function, self.number, self.step, self.arguments, self.result, self.constants)
        return Routine, said

    @property
    def name(self) -> str:
        """What it is called in texts of a plan: `SCORE`, and of a step of an aggregate `SCORE.merge`."""
        return self.function.name if self.step == "call" else f"{self.function.name}.{self.step}"

    @property
    def overload(self) -> Overload:
        return self.function.overloads[self.number]

    @property
    def body(self) -> Body | None:
        """What is called now; None where it is missing."""
        return self.function.code.body(self.overload)

    def __str__(self) -> str:
        given = f"({', '.join(map(repr, self.constants))})" if self.constants else ""
        return f"{self.name}{given}"

    def __call__(self, *values: Any) -> Any:
        """Return what it gives for values as rows have them: as `bound`, but null where a step of a row fails.

        So it is null whether it is called by itself or with many records, and whatever stands around it.

        Raises:
            FunctionFailed: a step that keeps something raises, or gives what it may not: that is its record's fault.
        """
        try:
            return self.called_with(values)
        except FunctionFailed:
            if self.is_null_where_it_fails:
                return None
            raise

    @property
    def is_null_where_it_fails(self) -> bool:
        """Whether it is a step of a row, which goes on without what it gives."""
        return self.step in _NULL_WHERE_IT_FAILS

    def called_with(self, values: Sequence[Any]) -> Any:
        """Return what it gives for values as rows have them.

        Raises:
            FunctionFailed: it raises, or gives what it may not.
        """
        body = self.body
        if not self._kept or self._kept[0][0] is not body:
            self._kept[:] = [(body, self.bound())]
        return self._kept[0][1](values)

    def __getattr__(self, name: str) -> Any:
        # What plans and errors call any function by.
        if name == "__qualname__":
            return self.name
        raise AttributeError(name)

    def bound(self) -> "Bound":
        """Return what computes it: from the values of the arguments, as rows have them, to the value of the result.

        Raises:
            StatementError: the module of the function cannot be had.
        """
        body = self.body
        if self.function.code.missing or body is None:
            raise missing_function(self.function)
        called = body.called
        if self.function.kind == "aggregate":
            called = getattr(called(*self.constants), self.step)
        return Bound(self, body, called)


class Bound:
    """A routine, ready to be called: what is converted on the way in and out, and which nulls it does not see."""

    def __init__(self, routine: Routine, body: Body, called: Callable[..., Any]) -> None:
        self._routine = routine
        self._body = body
        self._called = called
        types, annotations, nullable = routine.arguments, self._annotations(), self._nullable()
        self._taken = [to_python(of, said) for of, said in zip(types, annotations, strict=True)]
        self._as_they_are = not any(self._taken)
        self._strict = [at for at, may in enumerate(nullable) if not may]
        self._given = from_python(routine.result)
        self._rows = routine.function.kind == "table"
        # What an aggregate has kept stays where a value is passed over.
        self._passed_over = routine.step in {"aggregate", "undo"}

    def __call__(self, values: Sequence[Any]) -> Any:
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
            raise FunctionFailed(self._told(error)) from error

    def _converted(self, values: Sequence[Any]) -> list[Any]:
        return [
            value if take is None or value is None else take(value)
            for take, value in zip(self._taken, values, strict=True)
        ]

    def _annotations(self) -> tuple[Any, ...]:
        """Return how each argument of the step is annotated."""
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
                return kept, *_spread(columns, overload.signature, len(routine.arguments) - 1)
            case _:
                return _spread(columns, overload.signature, len(routine.arguments))

    def _nullable(self) -> tuple[bool, ...]:
        routine, overload = self._routine, self._routine.overload
        match routine.step:
            case "call":
                return _spread(overload.nullable, overload.signature, len(routine.arguments))
            case "aggregate" | "undo":
                columns = _spread(overload.nullable, overload.signature, len(routine.arguments) - 1)
                return True, *columns
            case _:
                return (True,) * len(routine.arguments)

    def _told(self, error: Exception) -> str:
        line = _line_in(error, self._body.called) or self._body.place
        at = f" ({line})" if line else ""
        return f"{self._routine.name}{at}: {raised(error)}"


def missing_function(function: UserFunction) -> StatementError:
    """Return the error of a function whose module cannot be had."""
    return StatementError(
        f'function "{function.name}" from "{function.origin}" cannot be called',
        detail=function.code.missing,
        hint="Bring its module to where the engine finds it and start again, or CREATE OR REPLACE FUNCTION.",
    )


def _spread(of: tuple[Any, ...], signature: Signature, count: int) -> tuple[Any, ...]:
    """Return what is said of each of `count` arguments, where one parameter may stand several times."""
    if not signature.variadic:
        return of[:count]
    at = len(signature.parameters) - 1 - signature.behind
    times = count - at - signature.behind
    return of[:at] + of[at : at + 1] * times + of[at + 1 :]


def _line_in(error: Exception, body: Callable[..., Any]) -> str:
    """Return the last line of the function's own module that an error came through; empty where it came through none."""
    module = getattr(body, "__module__", None)
    found = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == module:
            file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
            found = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
