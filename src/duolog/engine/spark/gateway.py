"""Launch the JVM through PySpark's gateway, let it end with this process, and forget it."""

import contextlib
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from duolog.engine.errors import JvmNotStarted, KernelMissing
from duolog.engine.jvm.exit_status import hint_for_killed, how_ended
from duolog.engine.jvm.jars import COMPILE_AGAIN, kernel_jar
from duolog.engine.jvm.scratch import Scratch
from duolog.engine.jvm.shutdown import JvmShutdown
from duolog.engine.kernel_classes import kernel_class

_LAST_WORDS_BYTES: Final = 2000


def launch_java(conf: SparkConf, log: IO[bytes] | None, scratch: Scratch) -> JavaGateway:
    """Start the JVM in a scratch directory; its output goes to `log`, else to the terminal.

    Raises:
        JvmNotStarted: it ended before it answered.
    """
    # The JVM's working directory is its scratch directory: stray files (derby.log, …) are removed
    # with it.
    popen: dict[str, object] = {"cwd": str(scratch.directory)}
    if sys.platform != "win32":  # There a process cannot choose what its child inherits.
        popen["pass_fds"] = [scratch.lock_fd]
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
    how = "" if status is None else how_ended(status)
    log_hint = f"The engine's log is {log}." if log else ""
    return JvmNotStarted(
        "the JVM did not start",
        detail=f"{how} {said.decode(errors='replace').strip()}".strip(),
        hint=f"{hint_for_killed(status)} {log_hint}".strip(),
    )


def end_parent_watch(gateway: JavaGateway, end: JvmShutdown) -> None:
    """Let the JVM outlive this process if it writes an archive."""
    if end.keeps_archive:
        with contextlib.suppress(Py4JError, ConnectionError):
            kernel_class(gateway.jvm, "ParentWatch").end()


def forget_gateway(gateway: JavaGateway) -> None:
    """Close the connections to a JVM, and remove what PySpark stores of it in this process."""
    # A gateway thread keeps the connections, and runs until it is shut down.
    gateway.shutdown()
    gateway.close(keep_callback_server=True)  # Even if the JVM had ended.
    # PySpark keeps these for the life of the process, and would call a JVM that has ended.
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


def begin_parent_watch(gateway: JavaGateway) -> None:
    """Make the JVM halt when this process ends: a closed standard input alone takes minutes."""
    if gateway.proc is not None:
        with kernel_is_there():
            kernel_class(gateway.jvm, "ParentWatch").begin(os.getpid())


def register_kernel(spark: SparkSession) -> None:
    """Register the kernel's functions in a Spark session.

    Raises:
        KernelMissing: the kernel jar does not fit this package.
    """
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public access to a Java class
    with kernel_is_there():
        kernel_class(jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001


@contextlib.contextmanager
def kernel_is_there() -> Iterator[None]:
    try:
        yield
    except TypeError as error:  # py4j: not callable means that there is no such class
        raise KernelMissing(
            "the kernel jar lacks a class that this Duolog calls",
            detail=f"{kernel_jar()}: {error}.",
            hint=COMPILE_AGAIN,
        ) from error
