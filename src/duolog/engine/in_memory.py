"""Run the kernel without Spark queries: a chain of levels in memory, for tests of topologies.

Records are passed as bytes, many per call (`duolog.testing.packed_records`). All chains share the
JVM of this process, which runs until the process ends.

Source: the kernel's `Driver`, `jvm/README.md`.
"""

import json
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError

from duolog.core.errors import QueryError
from duolog.engine.json_object import Json
from duolog.engine.query.callbacks.printing import write_of_functions, write_printed
from duolog.engine.registry_users import tell_registry_users
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.failures import causes_of
from duolog.engine.spark.session import Session, open_session, running_config

if TYPE_CHECKING:
    from duolog.engine.java_objects import JavaObject

_IN_WORDS: Final = {
    "RecordFailedException",
    "RegistryAwayException",
    "RegistryLoginException",
    "StoreFullException",
}
"""Exceptions of the kernel that say all there is to say."""

_lock = threading.Lock()
_session: Session | None = None
_log: tempfile.TemporaryDirectory[str] | None = None
"""The directory of the JVM's log, if no application has started the JVM."""


def shared_session() -> Session:
    """Return the session share of all in-memory chains; the first call starts the JVM.

    Raises:
        ConfigError: there is no Java that Spark can run on.
    """
    global _session  # noqa: PLW0603 - as the JVM, one for the process
    with _lock:
        if _session is None or _session.has_ended:
            # A running JVM has everything that is needed, whatever its settings are.
            _session = open_session(running_config() or _config())
        return _session


def _config() -> EngineConfig:
    global _log  # noqa: PLW0603 - removed when the process ends
    _log = tempfile.TemporaryDirectory(prefix="duolog-driver-", ignore_cleanup_errors=True)
    directory = Path(_log.name)
    return EngineConfig("", directory, log_path=directory / "engine.log")


class MemoryChain:
    """A lowered plan, with its state between micro-batches. Threads: one at a time."""

    def __init__(self, spec: Json) -> None:
        self._id: str = spec["application_id"]
        self._prints = any(node["kind"] == "print" for node in spec["nodes"].values())
        self._calls_python = bool(spec.get("functions"))
        self._session = shared_session()
        tell_registry_users(self._session)
        spark = self._session.spark
        driver = self._session.kernel("Driver")
        java = spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
        self._driver: JavaObject = driver(java, json.dumps(spec))

    def run(self, packed: bytearray, wall_clock_ms: int) -> bytes:
        """Process records as one micro-batch; return what sinks write, in order.

        Raises:
            QueryError: a record cannot be processed.
        """
        self._driver.setWallClock(wall_clock_ms)
        try:
            written = bytes(self._driver.runPacked(packed))
        except Py4JJavaError as error:
            raise _failed(error) from error
        finally:
            if self._prints:
                write_printed(str(self._session.kernel("Prints").take(self._id)))
            if self._calls_python:
                write_of_functions(str(self._session.kernel("PythonOutput").take()))
        return written

    def rows(self, look: Json) -> bytes:
        """Return the rows of a store, in all tasks: key and value as JSON (`lower_store_query`)."""
        return bytes(self._driver.rows(json.dumps(look)))

    def skipped(self, stage: str) -> int:
        """Return how many records were skipped at this stage."""
        return int(self._counted()["skipped"].get(stage, 0))

    def failed_calls(self) -> int:
        """Return how many calls in expressions have failed and returned null."""
        return int(self._counted()["failed_calls"])

    def _counted(self) -> Json:
        counted: Json = json.loads(str(self._session.kernel("Metrics").snapshot(self._id)))
        return counted

    def close(self) -> None:
        """Discard the JVM's counts."""
        self._session.kernel("Metrics").reset(self._id)
        self._session.kernel("Prints").reset(self._id)
        self._session.kernel("ProcessorWorkers").end(self._id)


def _failed(error: Py4JJavaError) -> QueryError:
    """Convert a failure of the kernel to a QueryError."""
    told = [cause.message for cause in causes_of(error) if cause.class_name in _IN_WORDS]
    what, _, why = (told or [str(error)])[-1].partition(": ")
    return QueryError(what, detail=why)
