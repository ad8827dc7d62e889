"""Call the functions of `for_each` with the records that the kernel's tasks pass on.

    task of Spark ─▶ Calls (JVM) ─▶ take ─▶ this thread: function(record) ─▶ done ─▶ the task may
    end

The task's micro-batch, or epoch in real time, is committed after the calls for all of its records:
each record is passed at least once, and again if the commit fails. One thread calls all functions
of an application, so calls for one key keep their order. A failing function ends the query before
the next call; or its record is skipped, depending on `processing.exception.handler`.

Source: Kafka Streams `KStreamPeek`.
"""

import base64
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from py4j.protocol import Py4JError

from duolog.core.exception_text import describe_exception
from duolog.engine.errors import QueryFailed
from duolog.engine.jvm.child_processes import exit_forked_children
from duolog.plan.nodes import ForEach
from duolog.plan.types import Column
from duolog.serde.called_record import CalledRecord
from duolog.serde.json import JsonSerde
from duolog.serde.serde import NoneSerde, Serde

logger: Final = logging.getLogger(__name__)

# The number of records after which the kernel is notified.
_RECORDS_MAX: Final = 500
_WAIT_MS: Final = 200
_AGAIN_S: Final = 0.1
_GIVEN_UP_S: Final = 10.0
# A session that was closed while the query ran has no JVM at all.
_JVM_IS_GONE: Final = (Py4JError, ConnectionError, AttributeError)
_HINT: Final = (
    "Fix the function and start again: the query continues after its last commit. Or set "
    "processing.exception.handler=log_and_continue to skip such records."
)


class CallbackSource(Protocol):
    """The source of records for callbacks: a `KernelExchange`."""

    def take_calls(self, records_max: int, wait_ms: int) -> str: ...
    def calls_done(self, number: int) -> None: ...
    def call_failed(self, number: int, error: str) -> None: ...


class TakenRecord(NamedTuple):
    """A record for a callback, as the kernel sends it: key and value are JSON."""

    number: int
    """The number by which the call is confirmed."""
    name: str
    """The node whose function is called."""
    timestamp_ms: int
    key: str | None
    value: str | None
    topic: str
    partition: int
    offset: int
    headers: list[tuple[str, str | None]]
    """Names and values in Base64."""


@dataclass(frozen=True, slots=True)
class Callback:
    """A function, and the serdes for its records."""

    function: Callable[[CalledRecord], object]
    keys: Serde
    values: Serde
    names: tuple[str, ...]
    place: str = ""
    """The source line where the user wrote it."""

    @classmethod
    def of(cls, node: ForEach, place: str = "") -> "Callback":
        schema = node.schema
        names = tuple(column.name for column in schema.value)
        return cls(node.function, _serde(schema.key), _serde(schema.value), names, place)

    def record(self, taken: TakenRecord) -> CalledRecord:
        """Return the record for the function."""
        key, value = taken.key, taken.value
        keys = self.keys.deserialize(None if key is None else key.encode())
        row = self.values.deserialize(None if value is None else value.encode())
        return CalledRecord(
            keys[0] if keys is not None and len(keys) == 1 else keys,
            None if row is None else dict(zip(self.names, row, strict=True)),
            taken.timestamp_ms,
            tuple(_headers(taken.headers)),
            taken.topic,
            taken.partition,
            taken.offset,
        )


class CallbackRunner:
    """A thread that calls functions while a query runs.

    Args:
        calls: functions, by the names of their nodes.
        handed: returns the exchange with the current JVM.
        passes_over: whether to skip a record whose function failed.
        stop: ends the Spark query, so that its micro-batch or epoch is not committed.
    """

    def __init__(
        self,
        calls: Mapping[str, Callback],
        handed: Callable[[], CallbackSource],
        stop: Callable[[], None],
        application_id: str,
        *,
        passes_over: bool,
    ) -> None:
        self._calls = calls
        self._handed = handed
        self._stop = stop
        self._application_id = application_id
        self._passes_over = passes_over
        self._ending = threading.Event()
        name = f"duolog-call-{application_id}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.failure: QueryFailed | None = None
        """The failure of a function, which ends the query: no other function is called after it."""

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop calling; wait a while for the function that is being called."""
        self._ending.set()
        if self.is_calling:
            return
        self._thread.join(_GIVEN_UP_S)
        if self._thread.is_alive():
            logger.warning("a function of %s has not returned yet", self._application_id)

    @property
    def is_calling(self) -> bool:
        """True if the caller is one of these functions."""
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while not self._ending.is_set() and self.failure is None:
            try:
                taken = json.loads(self._handed().take_calls(_RECORDS_MAX, _WAIT_MS))
                self._call([TakenRecord(*record) for record in taken])
            except _JVM_IS_GONE:
                # The thread that waits for Spark reports the reason, or restarts the JVM.
                self._ending.wait(_AGAIN_S)

    def _call(self, taken: list[TakenRecord]) -> None:
        last = None
        for one in taken:
            if self._ending.is_set():
                break
            name = one.name
            try:
                call = self._calls[name]
                with exit_forked_children():
                    call.function(call.record(one))
            except (Exception, SystemExit) as error:  # a user's function may raise anything
                told = describe_exception(error)
                if not self._passes_over:
                    at = f"partition {one.partition}, offset {one.offset}"
                    place = f'the record of topic "{one.topic}", {at}'
                    self._fail(name, f"cannot process {place} at {name}: {told}", error)
                    return
                logger.warning("%s failed", name, exc_info=True)
                self._handed().call_failed(one.number, told)
            else:
                last = one.number
        if last is not None:
            self._handed().calls_done(last)

    def _fail(self, name: str, what: str, error: BaseException) -> None:
        written_at = self._calls[name].place
        self.failure = QueryFailed(
            f'application "{self._application_id}" failed: {what}',
            query_id=self._application_id,
            detail=f"{name} is written at {written_at}." if written_at else "",
            hint=_HINT,
        )
        self.failure.__cause__ = error
        self._stop()


def _serde(columns: tuple[Column, ...]) -> Serde:
    return JsonSerde(columns) if columns else NoneSerde()


def _headers(given: list[tuple[str, str | None]]) -> Iterator[tuple[str, bytes | None]]:
    for name, value in given:
        yield name, None if value is None else base64.b64decode(value)
