"""Tracebacks of users' mistakes that end at the user's line.

    @short_traceback             a function
    @short_tracebacks            a class: each public method, and each operator

When a `DuologError` leaves such a function, the frames of Duolog and of the standard library are
removed from its traceback. The caller's frames stay, and so do those of the user's functions that
Duolog called. Other errors are unchanged: they are bugs, of Duolog or of the user.
`DUOLOG_TRACEBACK=full` in the environment keeps all frames.

No hook is installed. A bare `raise` adds no frame to a traceback that was cut before, so the frame
of this module is missing too. JAX also filters tracebacks at its public functions
(`jax._src.traceback_util`).
"""

import inspect
import os
import sysconfig
from collections.abc import Callable
from functools import update_wrapper
from types import FrameType, FunctionType, TracebackType
from typing import Final, ParamSpec, TypeVar, cast

from duolog.core.errors import DuologError
from duolog.dsl.handles.foreign_names import too_many_arguments, unknown_argument

P = ParamSpec("P")
T = TypeVar("T")
ClassT = TypeVar("ClassT", bound=type)

FULL: Final = "DUOLOG_TRACEBACK"
_LIBRARY: Final = sysconfig.get_path("stdlib") + os.sep
_PACKAGES: Final = ("site-packages", "dist-packages")
_AS_THEY_ARE: Final = frozenset({"__init_subclass__", "__repr__", "__exit__", "__del__"})


def short_traceback(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with short tracebacks for errors that a user can fix."""

    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # for pytest and IPython
        try:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                explain(function, kwargs, error)
                raise
        except wanted as error:
            shorten(error)
            raise

    explain, shorten, wanted = _explain_arguments, _shorten, DuologError
    given = cast("FunctionType", function)
    # It shares the function's globals: doctest finds the module there, and an error its place.
    made = FunctionType(
        called.__code__, given.__globals__, given.__name__, None, called.__closure__
    )
    return cast("Callable[P, T]", update_wrapper(made, given))


def short_tracebacks(cls: ClassT) -> ClassT:
    """Give the public methods and operators of a class short tracebacks."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and _is_public(name):
            setattr(cls, name, short_traceback(member))
    return cls


def short_tracebacks_of(module: dict[str, object]) -> None:
    """Shorten the tracebacks of a module's public functions; called last, with `globals()`."""
    for name, member in list(module.items()):
        if (
            isinstance(member, FunctionType)
            and member.__module__ == module["__name__"]
            and not name.startswith("_")
        ):
            module[name] = short_traceback(member)


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name not in _AS_THEY_ARE)


def _explain_arguments(
    function: Callable[..., object], given: dict[str, object], error: TypeError
) -> None:
    """Raise a StatementError if the call failed because of an unknown or surplus argument."""
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:
        return  # The function was entered: the error came from inside.
    parameters = inspect.signature(function).parameters
    for name, value in given.items():
        if name not in parameters:
            raise unknown_argument(function.__qualname__, name, value, parameters) from None
    if "positional argument" in str(error) and "were given" in str(error):
        raise too_many_arguments(function.__qualname__, parameters.values()) from None


def _shorten(error: BaseException) -> None:
    if os.environ.get(FULL) == "full":
        return
    at: BaseException | None = error
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.__traceback__ = _without_ours(at.__traceback__)
        at = at.__cause__ or at.__context__


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    frames = []
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for one in reversed(frames):
        kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept


def _is_ours(frame: FrameType) -> bool:
    # Check the module, because the __init__ of a dataclass has no file.
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "duolog":
        return True
    filename = frame.f_code.co_filename
    return filename.startswith(_LIBRARY) and not any(one in filename for one in _PACKAGES)
