"""Python functions of a plan on their way to the kernel's workers: each by a name, pickled.

    with collecting("shop") as found:     every expression that is lowered in here
        …                                 puts its functions there, and calls them by their names
    spec |= found.spec()

What a module has that a worker can import is pickled by its name, all else by its code. A front end needs nothing
of this: `plan.expressions.PythonCall` is an expression as any other.
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
from typing import Any, Final

from pyspark import cloudpickle

from duolog.core.exception_text import describe_exception
from duolog.engine.lowering.sql import quoted, spark_type, text
from duolog.functions.of_keys import OfKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.expressions.python_functions import Lookups, PythonFunction
from duolog.plan.processors import Definition
from duolog.plan.sql.user_functions import Routine
from duolog.plan.types import INT, STRING

Json = dict[str, Any]
Called = PythonFunction | Definition
"""What a worker is told of once, and called with by its name."""
_WORKER: Final = "duolog.functions.worker"
_OF_KEYS_AT: Final = "of keys at "
"""In front of the name of a node, in the kernel too."""


@dataclass(slots=True)
class Collected:
    """The functions that the expressions of a plan call, by the names that the kernel knows them by."""

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
        """Return the functions as the kernel's spec has them.

        Raises:
            StatementError: one cannot be sent to another process.
        """
        if not self.functions:
            return {}
        return {"functions": [_described(name, one) for name, one in self.functions.items()]}


_COLLECTING: Final[ContextVar[Collected | None]] = ContextVar("collecting", default=None)


@contextlib.contextmanager
def collecting(application_id: str) -> Iterator[Collected]:
    """Collect the functions of what is lowered meanwhile in this thread."""
    found = Collected(application_id)
    before = _COLLECTING.set(found)
    try:
        yield found
    finally:
        _COLLECTING.reset(before)


def name_of(function: Called) -> str:
    """Return the name that the kernel knows a function by.

    Raises:
        StatementError: nobody collects functions here.
    """
    return _collected(function).name_of(function)


def _collected(function: Called) -> Collected:
    found = _COLLECTING.get()
    if found is None:
        raise InvalidPlan(f"{function.called} is in Python, which nobody calls here")
    return found


def lower_call(function: PythonFunction, arguments: str) -> str:
    """Return the call of a function with `arguments`, bytes of JSON, as Spark SQL: bytes of JSON."""
    found = _collected(function)
    return (
        f"duolog_python({text(found.application_id)}, {text(found.name_of(function))}, {arguments})"
    )


def lower_result(function: PythonFunction, given: str) -> str:
    """Return the value of a result, bytes of JSON."""
    schema = f"{quoted('r')} {spark_type(function.result)}"
    return f"duolog_from_json({given}, {text(schema)}).r"


def described_of_keys(functions: Mapping[str, KeyFunction]) -> list[Json]:
    """Return functions of keys, by the nodes that ask them, as the kernel's spec has those that executors call."""
    return [
        _described(f"{_OF_KEYS_AT}{node}", PythonFunction(OfKey(function), (STRING,), INT))
        for node, function in functions.items()
    ]


def python_of(timeout_ms: int, memory_bytes_max: int) -> Json:
    """Return how the kernel starts Python for functions, as its spec has it."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - as a text
    environment = {
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "DUOLOG_MEMORY_BYTES": str(memory_bytes_max),
    }
    command = {
        # -P: what stands in the directory hides no module, unless it does so in this process.
        "line": [sys.executable, "-P", "-m", _WORKER],
        "directory": os.getcwd(),  # noqa: PTH109
        "environment": environment,
    }
    return {"python": {"command": command, "timeout_ms": timeout_ms}}


def _described(name: str, function: Called) -> Json:
    if isinstance(function, Definition):
        return _described_as(name, function.called, _pickled(function), None)
    if isinstance(function.function, Routine):
        function.function.bound()  # One of SQL's whose module is missing is told by its name.
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
        except Exception as error:
            raise InvalidPlan(
                f"{function.called} cannot be sent to the process that is to call it",
                detail=f"{describe_exception(error)}.",
                hint="Make what it uses, a connection say, inside of it: at its first call.",
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


def _parts_of(function: Called) -> list[Callable[..., Any] | type | None]:
    """Return what of a user's goes along."""
    if isinstance(function, Definition):
        made = function.make
        return [made, getattr(made, "func", None)]
    called = function.function
    if isinstance(called, Routine) and called.body is not None:
        called = called.body.called
    if isinstance(called, OfKey):
        called = called.__wrapped__
    parts: list[Callable[..., Any] | type | None] = [called]
    return parts + [part.made for part in function.shape if part is not None]


def _is_replaced(function: Called) -> bool:
    """Tell whether a module was read again here: a worker that has it would not do so."""
    if isinstance(function, Definition) or not isinstance(function.function, Routine):
        return False
    called = function.function.function
    return called.revision > 0 or called.code.is_replaced


def _is_found(module: ModuleType) -> bool:
    """Tell whether another process that imports a module by its name gets the same file."""
    file = inspect.getsourcefile(module) if getattr(module, "__file__", None) else None
    if file is None:
        return True
    parts = module.__name__.split(".")
    for entry in sys.path:
        place = os.path.join(entry or os.getcwd(), *parts)  # noqa: PTH109, PTH118 - many, as texts
        if os.path.realpath(file) in {f"{place}.py", os.path.join(place, "__init__.py")}:  # noqa: PTH118
            return True
    return False
