"""Prepare the Python functions of a plan for the kernel's workers: each has a name and is pickled.

    with collecting("shop") as found:     every expression that is lowered in here
        …                                 registers its functions, and calls them by their names
    spec |= found.spec()

Objects of modules that a worker can import are pickled by name, everything else by code. A front
end needs none of this: `plan.expressions.PythonCall` is an expression like any other.
"""

import base64
import contextlib
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final

from pyspark import cloudpickle

from duolog.core.exception_text import describe_exception
from duolog.engine.json_object import Json
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.functions.of_keys import OfKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.expressions.python_functions import Lookups, PythonFunction
from duolog.plan.processors import Definition
from duolog.plan.sql.user_functions import Routine
from duolog.plan.types import INT, STRING

Called = PythonFunction | Definition
"""A function that is sent to a worker once, and then called by its name."""
_WORKER: Final = "duolog.functions.worker"
_OF_KEYS_AT: Final = "of keys at "
"""The prefix of a node's name; the kernel uses it, too."""


@dataclass(slots=True)
class Collected:
    """The functions that the expressions of a plan call, by their names in the kernel."""

    application_id: str
    functions: dict[str, Called] = field(default_factory=dict)

    def name_of(self, function: Called) -> str:
        for name, known in self.functions.items():
            if known == function:
                return name
        name, number = function.called, 1
        while name in self.functions:
            number += 1
            name = f"{function.called}-{number}"
        self.functions[name] = function
        return name

    def spec(self) -> Json:
        """Return the functions in the form of the kernel's spec.

        Raises:
            StatementError: a function cannot be sent to another process.
        """
        if not self.functions:
            return {}
        return {"functions": [_described(name, one) for name, one in self.functions.items()]}


_COLLECTING: Final[ContextVar[Collected | None]] = ContextVar("collecting", default=None)


@contextlib.contextmanager
def collecting(application_id: str) -> Iterator[Collected]:
    """Collect the functions of expressions that this thread lowers within the block."""
    found = Collected(application_id)
    before = _COLLECTING.set(found)
    try:
        yield found
    finally:
        _COLLECTING.reset(before)


def name_of(function: Called) -> str:
    """Return the name of a function in the kernel.

    Raises:
        StatementError: called outside of `collecting`.
    """
    return _collected(function).name_of(function)


def _collected(function: Called) -> Collected:
    found = _COLLECTING.get()
    if found is None:
        raise InvalidPlan(f"{function.called} is a Python function, which cannot be called here")
    return found


def lower_call(function: PythonFunction, arguments: str) -> str:
    """Return a call as Spark SQL; `arguments` and result are bytes of JSON."""
    found = _collected(function)
    return (
        f"duolog_python({text(found.application_id)}, {text(found.name_of(function))}, {arguments})"
    )


def lower_result(function: PythonFunction, given: str) -> str:
    """Return the value of a result, given as bytes of JSON."""
    schema = f"{quoted('r')} {spark_type(function.result)}"
    return f"duolog_from_json({given}, {text(schema)}).r"


def described_of_keys(functions: Mapping[str, KeyFunction]) -> list[Json]:
    """Return functions of keys by the nodes that use them, as the kernel's spec has them."""
    return [
        _described(f"{_OF_KEYS_AT}{node}", PythonFunction(OfKey(function), (STRING,), INT))
        for node, function in functions.items()
    ]


def python_of(timeout_ms: int, memory_bytes_max: int) -> Json:
    """Return the kernel's settings for starting Python workers, in the form of its spec."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - as a text
    environment = {
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "DUOLOG_MEMORY_BYTES": str(memory_bytes_max),
    }
    command = {
        # -P: files in the working directory must not shadow modules, unless they do so in this
        # process.
        "line": [sys.executable, "-P", "-m", _WORKER],
        "directory": os.getcwd(),  # noqa: PTH109
        "environment": environment,
    }
    return {"python": {"command": command, "timeout_ms": timeout_ms}}


def _described(name: str, function: Called) -> Json:
    if isinstance(function, Definition):
        return _described_as(name, function.called, _pickled(function), None)
    if isinstance(function.function, Routine):
        function.function.bound()  # Raises the name if the module of a SQL function is missing.
    told = f"{function.called} ({function.place})" if function.place else function.called
    return _described_as(name, told, _pickled(function), function.lookups)


def _described_as(name: str, told: str, body: bytes, lookups: Lookups | None) -> Json:
    return {
        "name": name,
        "told": told,
        "id": hashlib.sha256(body).hexdigest(),
        "body": base64.b64encode(body).decode(),
        "timeout_ms": lookups and lookups.lasts_ms,
        "lookups": lookups and lookups.limit,
    }


def _pickled(function: Called) -> bytes:
    with contextlib.ExitStack() as by_value:
        for module in _modules_of(function):
            if not _is_found(module) or _is_replaced(function):
                cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
                by_value.callback(_unregister, module)
        try:
            pickled: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
        # The function holds any object, and its class may define how it is pickled.
        except Exception as error:
            raise InvalidPlan(
                f"{function.called} cannot be sent to the process that calls it",
                detail=f"{describe_exception(error)}.",
                hint="Create the objects that it uses, such as connections, inside the "
                "function at its first call.",
            ) from error
    return pickled


def _unregister(module: ModuleType) -> None:
    cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _modules_of(function: Called) -> Iterator[ModuleType]:
    for name in dict.fromkeys(
        getattr(part, "__module__", None) for part in _parts_of(function) if part is not None
    ):
        if name is not None and name != "__main__" and (module := sys.modules.get(name)):
            yield module


def _parts_of(function: Called) -> list[Callable[..., object] | type | None]:
    """Return the user's objects that are sent along."""
    if isinstance(function, Definition):
        made = function.make
        return [made, getattr(made, "func", None)]
    called = function.function
    if isinstance(called, Routine) and called.body is not None:
        called = called.body.called
    if isinstance(called, OfKey):
        called = called.__wrapped__
    parts: list[Callable[..., object] | type | None] = [called]
    return parts + [part.made for part in function.shape if part is not None]


def _is_replaced(function: Called) -> bool:
    """Return whether a module was reloaded here: a worker that has imported it would not do so."""
    if isinstance(function, Definition) or not isinstance(function.function, Routine):
        return False
    called = function.function.function
    return called.revision > 0 or called.code.is_replaced


def _is_found(module: ModuleType) -> bool:
    """Return whether another process that imports a module by its name gets the same file."""
    file = inspect.getsourcefile(module) if getattr(module, "__file__", None) else None
    if file is None:
        return True
    parts = module.__name__.split(".")
    for entry in sys.path:
        place = os.path.join(entry or os.getcwd(), *parts)  # noqa: PTH109, PTH118 - many, as texts
        if os.path.realpath(file) in {f"{place}.py", os.path.join(place, "__init__.py")}:  # noqa: PTH118
            return True
    return False
