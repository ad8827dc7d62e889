"""The one Spark session of this process: started once, kept warm, stopped at the end.

Starting takes seconds (JVM, jars, first plan), so all queries of a process share one session. It
has owners: each call of `open_session` creates one, and the JVM ends when the last of them closes.
Settings of an owner that differ from those that the JVM was started with are refused.

Thread rule: any thread.
"""

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint.owner import Holder
from duolog.engine.errors import JvmNotStarted, KernelMissing
from duolog.engine.jvm.class_archive import ClassArchive
from duolog.engine.jvm.jars import COMPILE_AGAIN, cache_dir, connector_jars, kernel_jar, spark_jars
from duolog.engine.jvm.java import ensure_java
from duolog.engine.jvm.masters import local_address
from duolog.engine.jvm.orphan_guard import OrphanGuard
from duolog.engine.jvm.scratch import Scratch, scratch_dir
from duolog.engine.jvm.shutdown import JvmShutdown, is_busy
from duolog.engine.jvm.start_abort import JvmStartAbort
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.executors import await_executors, ensure_master_answers, executors_left_in
from duolog.engine.spark.session_conf import session_conf

# For a JVM that has closed its connections and is about to exit.
_LAST_MOMENT_S: Final = 2

_LAST_WORDS_BYTES: Final = 2000

_KILLED_HINT: Final = (
    "The system kills processes when it runs out of memory: add memory, "
    'or lower the setting "driver.memory.bytes".'
)

# Settings that are fixed when the JVM starts, by their user-facing names.
_FIXED: Final = {
    "master": "master",
    "driver.memory.bytes": "driver_memory_bytes",
    "state.memory.max.bytes": "state_memory_bytes_max",
    "connector": "connector",
    "spark.*": "spark",
}


@dataclass(eq=False, slots=True)
class _Running:
    """The JVM of this process, with the session in it."""

    spark: SparkSession
    jvm: Any
    """Access to Java.

    PySpark has one per process, which is None or the next JVM's once this JVM has ended.
    """
    scratch: ExitStack
    java_process: Any
    config: EngineConfig
    end: JvmShutdown
    owners: set["Session"] = field(default_factory=set)
    kernel: dict[str, Any] = field(default_factory=dict)
    """Classes of the kernel, by name."""
    by_partitions: dict[int, SparkSession] = field(default_factory=dict)
    """Sessions of the same JVM, by their number of shuffle partitions."""
    opening: threading.Lock = field(default_factory=threading.Lock)

    @property
    def has_ended(self) -> bool:
        return self.java_process is not None and self.java_process.poll() is not None

    @property
    def how_it_ended(self) -> str:
        """A sentence about the end of the JVM; empty while it runs."""
        return _how_ended(self.java_process.poll()) if self.has_ended else ""

    def stop(self) -> None:
        left = executors_left_in(self.config.master, self.spark)
        # The JVM may already have ended, killed by the signal that ends this process too.
        with contextlib.suppress(Py4JError, ConnectionError):
            self.spark.stop()
        # PySpark stopped halfway, and keeps a thread with a socket; this second call does not use
        # the JVM.
        self.spark.sparkContext.stop()
        self.scratch.close()
        if left is not None:
            shutil.rmtree(left, ignore_errors=True)


@dataclass(eq=False, slots=True)
class Session:
    """One owner's share of the session of this process."""

    _running: _Running

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
                _register_kernel(known)
                running.by_partitions[shuffle_partitions] = known
        return known

    @property
    def holder(self) -> Holder:
        """The JVM's side of claims on checkpoints."""
        holder: Holder = self.kernel("Checkpoint")
        return holder

    def kernel(self, name: str) -> Any:
        """Return a class of the kernel; cached, as the JVM searches all jars for a name."""
        known = self._running.kernel
        if name not in known:
            known[name] = kernel_class(self.jvm, name)
        return known[name]

    @property
    def jvm(self) -> Any:
        """Java's packages by name; an ended JVM raises Py4JError or ConnectionError."""
        return self._running.jvm

    @property
    def log_path(self) -> Path | None:
        """The log file of the JVM: that of the application that started it."""
        return self._running.config.log_path

    @property
    def java_pid(self) -> int:
        """The process id of the JVM."""
        return int(self._running.java_process.pid)

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
_running: _Running | None = None


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
            _running = _start(config, extra or {}, given_up or threading.Event())
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


def _start(config: EngineConfig, extra: Mapping[str, str], given_up: threading.Event) -> _Running:
    _ensure_wanted(given_up)
    java = ensure_java()
    ensure_master_answers(config.master)
    jars = (*connector_jars(config.connector), kernel_jar())
    # A Python worker that Spark starts must use this interpreter, not the `python3` on PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with JvmStartAbort(given_up) as giving_up, ExitStack() as undo:
        held = undo.enter_context(scratch_dir())
        scratch = held.directory
        archive = ClassArchive.of(
            java, (*spark_jars(), *jars), cache_dir=cache_dir(), scratch=scratch
        )
        archive.take_over()
        writes = _is_to_write(config, archive)
        java_options = archive.java_options(write=writes)
        conf = SparkConf(loadDefaults=False)
        settings = session_conf(config, jars, scratch, java_options) | dict(extra)
        conf.setAll(list(settings.items()))
        guard = undo.enter_context(OrphanGuard(scratch))
        with local_address(config.master):
            gateway = _launch_java(conf, _log_file(config, undo), held)
        giving_up.process = gateway.proc
        end = JvmShutdown(gateway.proc, archive if writes else None)
        undo.push(end)
        # Run in reverse order: the JVM learns how to end while it can still be called.
        undo.callback(_forget_gateway, gateway)
        undo.callback(_let_it_write, gateway, end)
        _ensure_wanted(given_up)
        with _lives(gateway.proc):
            _let_it_end_with_us(gateway)
            guard.dismiss()
            context = SparkContext(conf=conf, gateway=gateway)
            _ensure_wanted(given_up)
            spark = SparkSession(context)
            _register_kernel(spark)
            await_executors(spark, config, given_up.is_set)
        kept = undo.pop_all()
    return _Running(spark, gateway.jvm, kept, gateway.proc, config, end)


@contextlib.contextmanager
def _lives(process: Any) -> Iterator[None]:
    """Raise JvmNotStarted for any failure that is due to the end of the JVM; PySpark has many."""
    try:
        yield
    except JvmNotStarted:
        raise
    except Exception as error:
        # For example, by a signal to all processes of a group.
        if not _has_ended(process):
            raise
        raise JvmNotStarted(
            "the JVM ended while Spark started in it",
            detail=_how_ended(process.poll()),
            hint=_of_killed(process.poll()),
        ) from error


def _how_ended(status: int) -> str:
    """Return a sentence about the exit status of a JVM.

    Example:
        >>> _how_ended(-9), _how_ended(3)
        ('The JVM was killed by SIGKILL.', 'The JVM ended with exit status 3.')
    """
    if status >= 0:
        return f"The JVM ended with exit status {status}."
    try:
        return f"The JVM was killed by {signal.Signals(-status).name}."
    except ValueError:
        return f"The JVM was killed by signal {-status}."


def _of_killed(status: int | None) -> str:
    return _KILLED_HINT if status == -signal.SIGKILL else ""


def _has_ended(process: Any) -> bool:
    try:
        process.wait(_LAST_MOMENT_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _ensure_wanted(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise JvmNotStarted("the start of the JVM was aborted")


def _log_file(config: EngineConfig, undo: ExitStack) -> IO[bytes] | None:
    if config.log_path is None:
        return None
    config.log_path.parent.mkdir(parents=True, exist_ok=True)
    return undo.enter_context(config.log_path.open("ab"))


def _launch_java(conf: SparkConf, log: IO[bytes] | None, scratch: Scratch) -> JavaGateway:
    # The JVM's working directory is its scratch directory: stray files (derby.log, …) are removed
    # with it.
    popen: dict[str, Any] = {"cwd": str(scratch.directory), "pass_fds": [scratch.lock_fd]}
    popen |= {"stdout": log, "stderr": log} if log else {}
    said_before = log.tell() if log else 0
    try:
        gateway: JavaGateway = launch_gateway(conf, popen)  # type: ignore[no-untyped-call]
    except PySparkException as error:
        status = _kill_launched(error)  # It has ended, but its pipe is open.
        raise _not_started(Path(log.name) if log else None, said_before, status) from error
    except BaseException as error:
        _kill_launched(error)
        raise
    return gateway


def _kill_launched(error: BaseException) -> int | None:
    """Kill the JVM whose launch was interrupted, as by Ctrl-C; return its status if it had ended.

    PySpark does not expose the process until it is ready, and removes the directory in which the
    JVM must answer: the JVM would fail, but never exit.
    """
    status = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, subprocess.Popen) and value.pid is not None:
                found = value.poll()
                status = found if status is None else status
                with value:  # Closes its pipe, and waits.
                    value.kill()
    return status


def _not_started(log: Path | None, said_before: int, status: int | None) -> JvmNotStarted:
    said = log.read_bytes()[said_before:][-_LAST_WORDS_BYTES:] if log else b""
    how = "" if status is None else _how_ended(status)
    log_hint = f"The engine's log is {log}." if log else ""
    return JvmNotStarted(
        "the JVM did not start",
        detail=f"{how} {said.decode(errors='replace').strip()}".strip(),
        hint=f"{_of_killed(status)} {log_hint}".strip(),
    )


def _is_to_write(config: EngineConfig, archive: ClassArchive) -> bool:
    """Return whether a JVM that starts now should write its archive at exit.

    Recording the classes makes a start a third more expensive, in vain if the machine stays busy
    until the end.
    """
    return config.writes_class_archive and archive.is_wanted and not is_busy()


def _let_it_write(gateway: JavaGateway, end: JvmShutdown) -> None:
    if end.keeps_archive:
        with contextlib.suppress(Py4JError, ConnectionError):
            kernel_class(gateway.jvm, "ParentWatch").end()


def _forget_gateway(gateway: JavaGateway) -> None:
    # A gateway thread keeps the connections, and runs until it is shut down.
    gateway.shutdown()
    gateway.close(keep_callback_server=True)  # Even if the JVM had ended.
    # PySpark keeps these for the life of the process, and would call a JVM that has ended.
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


def _let_it_end_with_us(gateway: JavaGateway) -> None:
    """Make the JVM halt when this process ends: a closed standard input alone takes minutes."""
    if gateway.proc is not None:
        with _kernel_is_there():
            kernel_class(gateway.jvm, "ParentWatch").begin(os.getpid())


def _register_kernel(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public access to a Java class
    with _kernel_is_there():
        kernel_class(jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001


@contextlib.contextmanager
def _kernel_is_there() -> Iterator[None]:
    try:
        yield
    except TypeError as error:  # py4j: not callable means that there is no such class
        raise KernelMissing(
            "the kernel jar lacks a class that this Duolog calls",
            detail=f"{kernel_jar()}: {error}.",
            hint=COMPILE_AGAIN,
        ) from error
