"""Load user-defined functions from modules, and encode them for the command topic.

    'scoring:score'    `score` of module `scoring`, found on Python's path

A record of the command topic contains all that a plan depends on, so that later statements can be
replayed even if the module is gone.
"""

import importlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, TypedDict

from duolog.core.errors import DuologError, StatementError
from duolog.core.exception_text import describe_exception
from duolog.ksql.udf.decorators import DEFINED, Definition, define
from duolog.plan.sql.signatures import Signature, signature
from duolog.plan.sql.user_functions import Code, Kind, Overload, Step, UserFunction
from duolog.plan.types import parse_type

_HINT: Final = (
    "Put it next to the file of statements, in the working directory, or on Python's path."
)


class KeptOverload(TypedDict):
    """An overload in a record of the command topic."""

    signature: str
    nullable: list[bool]
    constants: int
    state: str | None
    steps: list[Step]


class KeptFunction(TypedDict):
    """A function in a record of the command topic."""

    kind: Kind
    overloads: list[KeptOverload]


def add_directories(*directories: Path) -> None:
    """Add directories to the path of modules, the first one first."""
    for directory in reversed(directories):
        if (path := str(directory.resolve())) not in sys.path:
            sys.path.insert(0, path)


def load(name: str, origin: str, *, reload: bool = False) -> UserFunction:
    """Return the function that `module:name` defines.

    Args:
        name: its SQL name, in upper case.
        origin: `module:name`, with the Python name or the SQL name.
        reload: load the module again if it was imported before.

    Raises:
        StatementError: there is no such function; the error says why.
    """
    module_name, _, wanted = origin.partition(":")
    if not module_name or not wanted:
        raise StatementError(
            f'"{origin}" is not the name of a function',
            hint="Write the module and the function: 'scoring:score'.",
        )
    module = _imported(module_name, reload=reload)
    found = [
        one
        for one in _defined_in(module)
        if wanted == one.python_name or wanted.upper() == one.name
    ]
    if not found:
        found = [_plain_function(module, wanted)]
    return _function(name, origin, found)


def functions_of(module_name: str, *, reload: bool = False) -> tuple[UserFunction, ...]:
    """Return all functions that a module defines, under their own names.

    Raises:
        StatementError: the module cannot be imported, or defines no function.
    """
    module = _imported(module_name, reload=reload)
    by_name: dict[str, list[Definition]] = {}
    for one in _defined_in(module):
        by_name.setdefault(one.name, []).append(one)
    if not by_name:
        raise StatementError(
            f'module "{module_name}" defines no SQL function',
            hint="Decorate functions with @duolog.udf, @duolog.udaf or @duolog.udtf.",
        )
    return tuple(_function(name, f"{module_name}:{name}", of) for name, of in by_name.items())


def as_kept(function: UserFunction) -> KeptFunction:
    """Encode a function for the command topic."""
    return {
        "kind": function.kind,
        "overloads": [
            {
                "signature": _text(one.signature),
                "nullable": list(one.nullable),
                "constants": one.constants,
                "state": None if one.state is None else str(one.state),
                "steps": list(one.steps),
            }
            for one in function.overloads
        ],
    }


def of_kept(name: str, origin: str, kept: KeptFunction, *, reload: bool = False) -> UserFunction:
    """Decode a function of the command topic, and load it if the module still defines it.

    Otherwise `code.missing` says why it cannot be called.
    """
    kind = kept["kind"]
    overloads = tuple(_overload(one) for one in kept["overloads"])
    try:
        found = load(name, origin, reload=reload)
    except StatementError as error:
        return UserFunction(name, kind, origin, overloads, Code({}, str(error).replace("\n", " ")))
    gone = [one for one in overloads if one not in found.overloads]
    if found.kind != kind or gone:
        was = ", ".join(_text(one.signature) for one in gone or overloads)
        missing = (
            f"Its signature was {was} and has changed. Run CREATE OR REPLACE FUNCTION to "
            "use the new one."
        )
        return UserFunction(name, kind, origin, overloads, Code({}, missing))
    return UserFunction(name, kind, origin, overloads, found.code, found.description, found.family)


def _overload(kept: KeptOverload) -> Overload:
    state = kept["state"]
    return Overload(
        signature(kept["signature"]),
        tuple(kept["nullable"]),
        int(kept["constants"]),
        None if state is None else parse_type(state),
        tuple(kept["steps"]),
    )


def _text(of: Signature) -> str:
    """Format a signature for `signature`."""
    parts = [f"{one.name} {one.type}" for one in of.parameters]
    if of.variadic:
        parts[-1 - of.trailing] += "..."
    return f"{of.result} ({', '.join(parts)})"


def _function(name: str, origin: str, of: Sequence[Definition]) -> UserFunction:
    kinds = {one.kind for one in of}
    if len(kinds) > 1:
        raise StatementError(
            f'function "{name}" from "{origin}" has several kinds',
            hint="Give each kind a name of its own.",
        )
    bodies = {over: body for one in of for over, body in one.bodies.items()}
    taken = [[parameter.type for parameter in one.signature.parameters] for one in bodies]
    for at, types in enumerate(taken):
        if types in taken[:at]:
            places = sorted({body.place for body in bodies.values()})
            raise StatementError(
                f'function "{name}" has two overloads of the same types',
                detail=f"They are defined at {', '.join(places)}.",
                hint="Rename one of them: @udf(name=…).",
            )
    description = next((one.description for one in of if one.description), "")
    family = next((one.family for one in of if one.family), "")
    return UserFunction(name, of[0].kind, origin, tuple(bodies), Code(bodies), description, family)


def _defined_in(module: ModuleType) -> list[Definition]:
    found: list[Definition] = vars(module).get(DEFINED, [])
    return found


def _plain_function(module: ModuleType, name: str) -> Definition:
    """Return the definition of an undecorated function: a scalar function."""
    found = getattr(module, name, None)
    if not isinstance(found, FunctionType):
        known = sorted({one.python_name for one in _defined_in(module)})
        raise StatementError(
            f'module "{module.__name__}" has no function "{name}"',
            detail=f"It defines {', '.join(known)}." if known else "",
            hint="Decorate it: @duolog.udf, @duolog.udaf or @duolog.udtf.",
        )
    return define(found)


def _imported(name: str, *, reload: bool) -> ModuleType:
    importlib.invalidate_caches()
    before = sys.modules.get(name)
    try:
        if before is None or not reload:
            return importlib.import_module(name)
        # Its functions are defined again, or have been removed.
        vars(before).pop(DEFINED, None)
        return importlib.reload(before)
    except DuologError as error:
        raise StatementError(f'module "{name}" cannot be imported', detail=str(error)) from error
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise StatementError(f'there is no module "{name}"', hint=_HINT) from error
        raise _failed(name, error) from error
    except Exception as error:
        # The module is the user's code, which may raise anything.
        raise _failed(name, error) from error
    except SystemExit as error:
        if type(error) is not SystemExit:
            raise  # Raised by a signal handler.
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> StatementError:
    """Return the error of a module, with the line that raised it."""
    at = next(_places(error), "")
    return StatementError(
        f'module "{name}" cannot be imported: {describe_exception(error)}',
        detail=f"It was raised at {at}." if at else "",
        hint=f'Run python -c "import {name}" to see the full traceback.',
    )


def _places(error: BaseException) -> Iterator[str]:
    """Yield the source positions of an error, innermost first, without the import machinery."""
    if isinstance(error, SyntaxError) and error.filename:
        yield f"{error.filename}:{error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (
            not frame.filename.startswith("<")
            and "importlib" not in frame.filename
            and frame.filename != __file__
        ):
            yield f"{frame.filename}:{frame.lineno}"
