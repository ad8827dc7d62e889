"""The one Spark session of this process: started once, kept warm, stopped at the end.

Starting takes seconds (JVM, jars, first plan), so all queries of a process share one session. It
has owners: each call of `open_session` creates one, and the JVM ends when the last of them closes.
Settings of an owner that differ from those that the JVM was started with are refused.

Thread rule: any thread.
"""

import atexit
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from pyspark.sql import SparkSession

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint.owner import Holder
from duolog.engine.java_objects import JavaObject
from duolog.engine.jvm.exit_status import JvmEnd
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.gateway import register_kernel
from duolog.engine.spark.running_jvm import RunningJvm
from duolog.engine.spark.session_start import start_jvm

# Settings that are fixed when the JVM starts, by their user-facing names.
_FIXED: Final = {
    "master": "master",
    "driver.memory.bytes": "driver_memory_bytes",
    "state.memory.max.bytes": "state_memory_bytes_max",
    "connector": "connector",
    "spark.*": "spark",
}


@dataclass(eq=False, slots=True)
class Session:
    """One owner's share of the session of this process."""

    _running: RunningJvm

    @property
    def spark(self) -> SparkSession:
        return self._running.spark

    def spark_with(self, shuffle_partitions: int) -> SparkSession:
        """Return a session with this number of shuffle partitions: it alone differs by query.

        Created once and never changed, so that concurrent starts cannot get each other's number.
        """
        running = self._running
        with running.opening:
            if (known := running.by_partitions.get(shuffle_partitions)) is None:
                known = running.spark.newSession()
                known.conf.set("spark.sql.shuffle.partitions", shuffle_partitions)
                register_kernel(known)
                running.by_partitions[shuffle_partitions] = known
        return known

    @property
    def holder(self) -> Holder:
        """The JVM's side of claims on checkpoints."""
        return cast("Holder", self.kernel("Checkpoint"))

    def kernel(self, name: str) -> JavaObject:
        """Return a class of the kernel; cached, as the JVM searches all jars for a name."""
        known = self._running.kernel
        if name not in known:
            known[name] = kernel_class(self.jvm, name)
        return known[name]

    @property
    def jvm(self) -> JavaObject:
        """Java's packages by name; an ended JVM raises Py4JError or ConnectionError."""
        return self._running.jvm

    @property
    def log_path(self) -> Path | None:
        """The log file of the JVM: that of the application that started it."""
        return self._running.config.log_path

    @property
    def java_pid(self) -> int:
        """The process id of the JVM."""
        process = self._running.java_process
        assert process is not None, "the gateway has started the JVM"
        return process.pid

    def note_query(self) -> None:
        """Record that a query was started: an archive of its classes is then worth writing."""
        self._running.end.ran_query = True

    @property
    def has_ended(self) -> bool:
        """True if the JVM has ended, by itself or killed."""
        return self._running.has_ended

    @property
    def how_it_ended(self) -> str:
        """A sentence about the end of the JVM; empty while it runs."""
        return self._running.how_it_ended

    @property
    def its_end(self) -> JvmEnd | None:
        """The end of the JVM; None while it runs."""
        return self._running.its_end

    def ping(self) -> None:
        """Call the JVM, and return once it has answered; an ended one raises as `jvm`."""
        self.jvm.java.lang.System.currentTimeMillis()

    def end_now(self) -> None:
        """Kill the JVM unless it has other owners; callers that wait for it return at once.

        The files are left as after a crash, which every start expects.
        """
        running = self._running
        if running.java_process is not None and running.owners <= {self}:
            running.end.ran_query = False
            running.java_process.kill()

    def close(self) -> None:
        """Give up this share. The last owner ends the JVM and removes its scratch files."""
        global _running  # noqa: PLW0603 - as in open_session
        with _lock:
            self._running.owners.discard(self)
            if self._running is not _running or self._running.owners:
                return
            _running = None
            self._running.stop()


_lock = threading.Lock()
_running: RunningJvm | None = None


def open_session(
    config: EngineConfig,
    *,
    extra: Mapping[str, str] | None = None,
    given_up: threading.Event | None = None,
) -> Session:
    """Return a share of the session of this process, which the first call starts.

    If its JVM has ended, a new one is started; shares of the old one remain invalid. Setting
    `given_up` makes a start fail at once.

    Raises:
        ConfigError: the session runs with another master, memory or connector than `config` asks
            for.
        JavaMissing: there is no Java that Spark can run on.
        ConnectorMissing: the Kafka connector is unavailable.
        ExecutorsMissing: the master is a cluster without executors.
        KernelMissing: the wheel does not contain the kernel.
        JvmNotStarted: the JVM ended before it was ready.
    """
    global _running  # noqa: PLW0603 - a process can hold only one JVM, and so one session
    with _lock:
        if _running is not None and _running.has_ended:
            _running.stop()
            _running = None
        if _running is None:
            _running = start_jvm(config, extra or {}, given_up or threading.Event())
            atexit.register(_stop_at_exit)
        else:
            _ensure_same(_running.config, config)
            _say_where_the_log_is(_running.config.log_path, config.log_path)
        share = Session(_running)
        _running.owners.add(share)
        return share


def running_config() -> EngineConfig | None:
    """Return the configuration of the JVM of this process; None without a JVM."""
    with _lock:
        return None if _running is None or _running.has_ended else _running.config


def _stop_at_exit() -> None:
    global _running
    with _lock:
        running, _running = _running, None
    if running is not None:
        running.stop()


def _ensure_same(running: EngineConfig, wanted: EngineConfig) -> None:
    for name, field_name in _FIXED.items():
        has, asked = getattr(running, field_name), getattr(wanted, field_name)
        if has != asked:
            raise ConfigError(
                f'setting "{name}" cannot be {asked!r} here: this process runs Spark with {has!r}',
                name=name,
                value=asked,
                detail="All applications of one process share one JVM, and the first one "
                "started it.",
                hint="Use the same value for all of them, or run this one in a process of its own.",
            )


def _say_where_the_log_is(running: Path | None, wanted: Path | None) -> None:
    """Write a line to the log that an owner expects, if the JVM writes to another owner's log."""
    if wanted is None or wanted == running:
        return
    wanted.parent.mkdir(parents=True, exist_ok=True)
    place = "the terminal" if running is None else str(running)
    with wanted.open("a") as log:
        log.write(
            f"The JVM of process {os.getpid()} was started by another application: it logs "
            f"to {place}\n"
        )
