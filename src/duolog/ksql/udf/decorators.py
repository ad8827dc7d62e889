"""Decorators that define SQL functions in Python: `@udf`, `@udaf`, `@udtf`.

    @udf                                            @udtf
    def initials(name: str) -> str: ...             def words(text: str) -> Iterator[str]: ...

    @udaf
    class Spread:
        def initialize(self) -> Kept: ...                             state of an empty group
        def aggregate(self, kept: Kept, value: float) -> Kept: ...    add a record
        def undo(self, kept: Kept, value: float) -> Kept: ...         subtract one (tables);
            optional
        def merge(self, one: Kept, other: Kept) -> Kept: ...          merge two sessions; optional
        def map(self, kept: Kept) -> float: ...                       result; by default the state

Types come from the annotations. Functions of the same name are overloads, and a parameter with a
default makes an overload without it. `*values: T` accepts any number of arguments. Parameters of an
aggregate's `__init__(self, k: int)` are constants after the columns.

The decorated function or class is unchanged, so that it can be called and tested directly. Source:
ksqlDB's `@Udf`, `@UdafFactory`, `@Udtf`.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Final, TypeVar, get_type_hints, overload

from duolog.core.counts import counted
from duolog.core.errors import StatementError
from duolog.ksql.udf.annotations import (
    NoType,
    may_be_none,
    shown,
    type_of_parameter,
    type_of_result,
    type_of_rows,
)
from duolog.plan.awaiting import is_async_generator, is_coroutine, is_generator
from duolog.plan.sql.signatures import Parameter, Signature
from duolog.plan.sql.user_functions import Body, Kind, Overload, Step
from duolog.plan.types import Type

DEFINED: Final = "__duolog_functions__"
"""Module attribute with the functions that the module defines."""

_STEPS: Final[tuple[Step, ...]] = ("initialize", "aggregate", "undo", "merge", "map")
_NEEDED: Final = ("initialize", "aggregate")
_ONE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Called = Callable[..., object]
"""A function, a method, or a class."""
Hints = Mapping[str, object]
"""Annotations by name."""

Decorated = TypeVar("Decorated", bound=Called)


@dataclass(frozen=True, slots=True)
class Definition:
    """A decorated function or class: its name and its overloads."""

    name: str
    """SQL name, in upper case."""
    python_name: str
    kind: Kind
    bodies: Mapping[Overload, Body]
    description: str
    family: str


@overload
def udf(function: Decorated, /) -> Decorated: ...
@overload
def udf(
    *, name: str | None = None, description: str | None = None, category: str | None = None
) -> Callable[[Decorated], Decorated]: ...
def udf(
    function: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    category: str | None = None,
) -> object:
    """Define a SQL function, which is called for each row and typed by its annotations.

    A parameter that is not `| None` never receives a null: the result is null instead. If the
    function raises an exception, the result is null too, and the error is in the processing log.

    Args:
        function: the decorated function, for `@udf` without parentheses.
        name: name in SQL; by default the function's own.
        description: text for DESCRIBE FUNCTION; by default the first paragraph of the docstring.
        category: category in SHOW FUNCTIONS; by default OTHER.

    Raises:
        StatementError: an annotation is missing, or has no SQL type.

    Example:
        >>> @udf
        ... def initials(name: str) -> str:
        ...     return "".join(word[0] for word in name.split())
        >>> initials("Ada Lovelace")
        'AL'
    """
    return _decorating("scalar", function, name, description, category)


@overload
def udtf(function: Decorated, /) -> Decorated: ...
@overload
def udtf(
    *, name: str | None = None, description: str | None = None, category: str | None = None
) -> Callable[[Decorated], Decorated]: ...
def udtf(
    function: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    category: str | None = None,
) -> object:
    """Define a SQL table function, which returns several rows: `list[T]` or `Iterator[T]`.

    Arguments, nulls and errors are as for `udf`; a null result or an error gives no rows.

    Example:
        >>> @udtf
        ... def words(text: str) -> list[str]:
        ...     return text.split()
    """
    return _decorating("table", function, name, description, category)


@overload
def udaf(function: Decorated, /) -> Decorated: ...
@overload
def udaf(
    *, name: str | None = None, description: str | None = None, category: str | None = None
) -> Callable[[Decorated], Decorated]: ...
def udaf(
    function: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    category: str | None = None,
) -> object:
    """Define a SQL aggregate function as a class.

    Its methods are `initialize`, `aggregate`, and optionally `undo`, `merge` and `map`. The state
    of a group has the result type of `initialize` and is stored in the query's store. Without
    `undo`, the function aggregates streams only; without `merge`, it does not support session
    windows. Nulls are skipped unless `aggregate` accepts None.

    Example:
        >>> @udaf
        ... class Product:
        ...     def initialize(self) -> float:
        ...         return 1.0
        ...
        ...     def aggregate(self, kept: float, value: float) -> float:
        ...         return kept * value
    """
    return _decorating("aggregate", function, name, description, category)


def _decorating(
    kind: Kind, function: object, name: str | None, description: str | None, category: str | None
) -> object:
    def decorate(decorated: object) -> object:
        made = define(decorated, kind)
        if name is not None:
            made = replace(made, name=name.upper())
        if description is not None:
            made = replace(made, description=description)
        if category is not None:
            made = replace(made, family=category.upper())
        vars(sys.modules[decorated.__module__]).setdefault(DEFINED, []).append(made)
        return decorated

    return decorate if function is None else decorate(function)


def define(decorated: object, kind: Kind = "scalar") -> Definition:
    """Return the definition of a function or class.

    Raises:
        StatementError: it cannot be a SQL function; the error has its position and a hint.
    """
    if kind == "aggregate":
        if not isinstance(decorated, type):
            raise _refused(
                decorated, "is not a class", "Define a class with initialize and aggregate."
            )
        found = dict(_overloads_of_class(decorated))
    else:
        if not isinstance(decorated, FunctionType):
            raise _refused(decorated, "is not a function", "Decorate a function: def …")
        _ensure_awaits_nothing(decorated, decorated)
        found = dict(_overloads_of_function(decorated, kind))
    name = decorated.__name__
    return Definition(name.upper(), name, kind, found, _description(decorated), "")


def _ensure_awaits_nothing(of: Called, function: Called) -> None:
    if is_coroutine(function) or is_async_generator(function):
        raise _refused(
            of, "is a coroutine function", "Use def: coroutines are not awaited.", function
        )


def _overloads_of_function(function: FunctionType, kind: Kind) -> Iterator[tuple[Overload, Body]]:
    hints = _hints(function, function)
    given = [*inspect.signature(function).parameters.values()]
    result = _result(function, function, hints, rows=kind == "table")
    for parameters in _ways(function, given):
        yield _overload(function, function, parameters, hints, result)


def _overloads_of_class(of: type) -> Iterator[tuple[Overload, Body]]:
    steps = {name: vars(of)[name] for name in _STEPS if callable(vars(of).get(name))}
    steps |= {
        name: getattr(of, name)
        for name in _STEPS
        if name not in steps and callable(getattr(of, name, None))
    }
    for name in _NEEDED:
        if name not in steps:
            raise _refused(
                of, f"has no {name}", "Define initialize(self) and aggregate(self, kept, value)."
            )
    for step in steps.values():
        _ensure_awaits_nothing(of, step)
        if is_generator(step):
            raise _refused(of, "has a method that is a generator", "Return the value.", step)
    hints = {name: _hints(of, step) for name, step in steps.items()}
    kept_as = hints["initialize"].get("return", inspect.Signature.empty)
    state = _result(of, steps["initialize"], hints["initialize"], rows=False)
    _ensure_steps_agree(of, steps, hints, state)
    result = state
    if "map" in steps:
        result = _result(of, steps["map"], hints["map"], rows=False)
    columns = [*inspect.signature(steps["aggregate"]).parameters.values()][2:]
    made_with: list[inspect.Parameter] = []
    init_hints: Hints = {}
    if of.__init__ is not object.__init__:  # type: ignore[misc] # Its own, not an instance's.
        made_with = [*inspect.signature(of).parameters.values()]
        init_hints = _hints(of, of.__init__)  # type: ignore[misc]
    # Parameters are matched by position, so names do not matter.
    for way in _ways(of, columns):
        for constants in _ways(of, made_with):
            if any(one.kind is one.VAR_POSITIONAL for one in constants):
                raise _refused(
                    of, "accepts any number of constants", "Declare a fixed number in __init__."
                )
            one, body = _overload(of, of, way, hints["aggregate"], result)
            behind, _ = _overload(of, of, constants, init_hints, result)
            signature = Signature(
                one.signature.parameters + behind.signature.parameters,
                result,
                one.signature.variadic,
                len(constants) if one.signature.variadic else 0,
            )
            yield (
                Overload(
                    signature,
                    one.nullable + behind.nullable,
                    len(constants),
                    state,
                    tuple(name for name in _STEPS if name in steps),
                ),
                replace(body, state_annotation=kept_as),
            )


def _ensure_steps_agree(
    of: type, steps: Mapping[Step, Called], hints: Mapping[Step, Hints], state: Type
) -> None:
    """Raise a StatementError if the types of the methods do not match the state."""
    counts: dict[Step, int] = {"initialize": 0, "map": 1, "merge": 2}
    for name, step in steps.items():
        parameters = [*inspect.signature(step).parameters.values()][1:]
        if name in counts and len(parameters) != counts[name]:
            raise _refused(
                of,
                f"has a method {name} with {counted(len(parameters), 'parameter')}",
                f"Declare {counts[name]} after self.",
            )
        kept = parameters[:2] if name == "merge" else parameters[: 0 if name == "initialize" else 1]
        if name in {"aggregate", "undo"} and len(parameters) < 2:
            raise _refused(
                of, f"has a method {name} without a value", f"Declare {name}(self, kept, value)."
            )
        for parameter in kept:
            found = _type(
                of,
                step,
                parameter.name,
                hints[name].get(parameter.name, parameter.empty),
                type_of_result,
            )
            if found != state:
                raise _refused(
                    of,
                    f"has state {state}, but {name} accepts {found}",
                    "Use the same annotation.",
                    step,
                )
        if name in {"aggregate", "undo", "merge"}:
            gives = _result(of, step, hints[name], rows=False)
            if gives != state:
                raise _refused(
                    of,
                    f"has state {state}, but {name} returns {gives}",
                    "Use the same annotation.",
                    step,
                )
    if "undo" in steps:
        one, other = (
            [
                (p.kind, hints[name].get(p.name))
                for p in [*inspect.signature(steps[name]).parameters.values()][2:]
            ]
            for name in ("aggregate", "undo")
        )
        if one != other:
            raise _refused(
                of,
                "has different parameters in undo and aggregate",
                "Give both the same parameters.",
            )


def _overload(
    of: Called,
    step: Called,
    parameters: list[inspect.Parameter],
    hints: Hints,
    result: Type,
) -> tuple[Overload, Body]:
    annotations = tuple(hints.get(one.name, one.empty) for one in parameters)
    types = tuple(
        _type(of, step, one.name, said) for one, said in zip(parameters, annotations, strict=True)
    )
    signature = Signature(
        tuple(Parameter(one.name, kind) for one, kind in zip(parameters, types, strict=True)),
        result,
        any(one.kind is one.VAR_POSITIONAL for one in parameters),
    )
    nullable = tuple(may_be_none(said) for said in annotations)
    return Overload(signature, nullable), Body(of, annotations, place=place_of(of))


def _ways(of: Called, parameters: list[inspect.Parameter]) -> Iterator[list[inspect.Parameter]]:
    """Yield the parameters of each overload: all of them, and without those that have defaults."""
    for one in parameters:
        if one.kind is one.VAR_KEYWORD or (
            one.kind is one.KEYWORD_ONLY and one.default is one.empty
        ):
            raise _refused(
                of,
                f'has a keyword parameter "{one.name}"',
                "Use positional parameters.",
            )
    placed = [one for one in parameters if one.kind in _ONE or one.kind is one.VAR_POSITIONAL]
    needed = [one for one in placed if one.default is one.empty]
    for count in range(len(placed), len(needed) - 1, -1):
        if any(one.kind is one.VAR_POSITIONAL for one in placed) and count < len(placed):
            return
        yield placed[:count]


def _type(
    of: Called,
    step: Called,
    name: str,
    annotation: object,
    type_of: Callable[[object], Type] = type_of_parameter,
) -> Type:
    if annotation is inspect.Signature.empty:
        raise _refused(
            of,
            f'has a parameter "{name}" without an annotation',
            f"Annotate it, for example {name}: str.",
            step,
        )
    try:
        return type_of(annotation)
    except NoType as error:
        raise _refused(
            of, f'has a parameter "{name}: {shown(annotation)}": {error}', error.hint, step
        ) from error


def _result(of: Called, step: Called, hints: Hints, *, rows: bool) -> Type:
    annotation = hints.get("return", inspect.Signature.empty)
    if annotation is inspect.Signature.empty or annotation is type(None):
        example = "-> list[str]" if rows else "-> str"
        raise _refused(
            of, "has no return annotation", f"Annotate its result: {example}, for example.", step
        )
    try:
        return type_of_rows(annotation) if rows else type_of_result(annotation)
    except NoType as error:
        raise _refused(of, f'returns "{shown(annotation)}": {error}', error.hint, step) from error


def _hints(of: Called, step: Called) -> Hints:
    try:
        return get_type_hints(step, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise _refused(
            of,
            f"has annotations that cannot be read: {error}",
            "Define the names they use at the top level of the module.",
            step,
        ) from error


def _description(of: object) -> str:
    text = inspect.getdoc(of) if of.__doc__ else None
    return " ".join((text or "").partition("\n\n")[0].split())


def place_of(of: object) -> str:
    """Return the source position of a function or class, such as `scoring.py:12`.

    Empty if unknown.
    """
    code = getattr(of, "__code__", None)
    if code is not None:
        return f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}"
    if not callable(of):
        return ""
    try:
        _, line = inspect.getsourcelines(of)
        return f"{(inspect.getsourcefile(of) or '').rpartition('/')[2]}:{line}"
    except (OSError, TypeError):
        return ""


def _refused(of: object, what: str, hint: str, step: object = None) -> StatementError:
    name = getattr(of, "__name__", repr(of))
    return StatementError(
        f'function "{name}" {what}', hint=hint, place=place_of(step or of) or place_of(of)
    )
