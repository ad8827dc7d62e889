"""Call users' functions of keys, for whose results the kernel's tasks wait.

    task of Spark ─▶ KeyFunctions (JVM) ─▶ take ─▶ this thread: function(key) ─▶ answer ─▶ the task
    continues

The kernel requests each key once, and caches the results for the last 100,000 keys. One thread
calls all functions of an application. A function that fails, or returns no valid partition, is an
error of the record with that key.
"""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from py4j.protocol import Py4JError

from duolog.core.exception_text import describe_exception
from duolog.engine.jvm.child_processes import exit_forked_children
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.serde.json import JsonSerde

_KEYS_MAX: Final = 1000
_WAIT_MS: Final = 500
_AGAIN_S: Final = 0.1
_GIVEN_UP_S: Final = 10.0
# A session that was closed while the query ran has no JVM at all.
_JVM_IS_GONE: Final = (Py4JError, ConnectionError, AttributeError)


class KeySource(Protocol):
    """The source of keys that wait for results: a `KernelExchange`."""

    def take_keys(self, keys_max: int, wait_ms: int) -> str: ...
    def answer_keys(self, answers: str) -> None: ...


class KeyFunctionRunner:
    """A thread that calls functions of keys while a query runs.

    Args:
        functions: by the names of the nodes that use them.
        asking: returns the exchange with the current JVM.
    """

    def __init__(
        self,
        functions: Mapping[str, KeyFunction],
        asking: Callable[[], KeySource],
        application_id: str,
    ) -> None:
        self._functions = {
            name: (function, JsonSerde(function.key)) for name, function in functions.items()
        }
        self._asking = asking
        self._ending = threading.Event()
        name = f"duolog-keys-{application_id}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop answering; wait a while for the function that is being called."""
        self._ending.set()
        self._thread.join(_GIVEN_UP_S)

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                taken = json.loads(self._asking().take_keys(_KEYS_MAX, _WAIT_MS))
                if taken:
                    self._asking().answer_keys(json.dumps([self._answer(*one) for one in taken]))
            except _JVM_IS_GONE:
                # The thread that waits for Spark reports the reason, or restarts the JVM.
                self._ending.wait(_AGAIN_S)

    def _answer(self, number: int, name: str, key: str) -> list[object]:
        """Return the number of a request with its partition, or with an error text."""
        function, serde = self._functions[name]
        try:
            with exit_forked_children():
                return [number, function.partition(serde.deserialize(key.encode())), None]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
            told = describe_exception(error)
            return [number, None, f"{function.called}: {told}"]
