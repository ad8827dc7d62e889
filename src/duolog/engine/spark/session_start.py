"""Start the JVM of this process, and the Spark session in it.

    java, jars ─▶ scratch directory, class archive ─▶ gateway ─▶ session ─▶ kernel ─▶ executors

What was opened is undone in reverse order if a step fails, or if the caller gives up. Threads: one
at a time, as `session` ensures.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from duolog.core.operating_system.support import ensure_spark_supported
from duolog.engine.errors import JvmNotStarted
from duolog.engine.jvm.class_archive import ClassArchive
from duolog.engine.jvm.exit_status import final_status, hint_for_killed, how_ended
from duolog.engine.jvm.jars import cache_dir, connector_jars, kernel_jar, spark_jars
from duolog.engine.jvm.java import ensure_java, java_home
from duolog.engine.jvm.masters import local_address
from duolog.engine.jvm.orphan_guard import OrphanGuard
from duolog.engine.jvm.scratch import scratch_dir
from duolog.engine.jvm.shutdown import JvmShutdown, is_busy
from duolog.engine.jvm.start_abort import JvmStartAbort
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.executors import await_executors, ensure_master_answers
from duolog.engine.spark.gateway import (
    begin_parent_watch,
    end_parent_watch,
    forget_gateway,
    launch_java,
    register_kernel,
)
from duolog.engine.spark.running_jvm import RunningJvm
from duolog.engine.spark.session_conf import session_conf


def start_jvm(
    config: EngineConfig, extra: Mapping[str, str], given_up: threading.Event
) -> RunningJvm:
    """Return the JVM of this process, once Spark runs in it and its executors answer.

    `extra` are settings of Spark. Setting `given_up` makes the start fail at once.

    Raises:
        JvmNotStarted: the JVM ended before it was ready, or the start was aborted.
        JavaMissing, ConnectorMissing, KernelMissing, ExecutorsMissing: as `open_session`.
        ConfigError: Spark does not run on this system as it is set up.
    """
    _ensure_wanted(given_up)
    ensure_spark_supported()
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
        with local_address(config.master), java_home(java, scratch):
            gateway = launch_java(conf, _log_file(config, undo), held)
        giving_up.process = gateway.proc
        end = JvmShutdown(gateway.proc, archive if writes else None)
        undo.push(end)
        # Run in reverse order: the JVM learns how to end while it can still be called.
        undo.callback(forget_gateway, gateway)
        undo.callback(end_parent_watch, gateway, end)
        _ensure_wanted(given_up)
        with _lives(gateway.proc):
            begin_parent_watch(gateway)
            guard.dismiss()
            context = SparkContext(conf=conf, gateway=gateway)
            _ensure_wanted(given_up)
            spark = SparkSession(context)
            register_kernel(spark)
            await_executors(spark, config, given_up.is_set)
        kept = undo.pop_all()
    return RunningJvm(spark, gateway.jvm, kept, gateway.proc, config, end)


@contextlib.contextmanager
def _lives(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Raise JvmNotStarted for any failure that is due to the end of the JVM; PySpark has many."""
    try:
        yield
    except JvmNotStarted:
        raise
    except Exception as error:
        # Whatever PySpark stumbles over if the JVM has ended, for example by a signal to all
        # processes of a group; other exceptions are passed on.
        if (status := final_status(process)) is None:
            raise
        raise JvmNotStarted(
            "the JVM ended while Spark started in it",
            detail=how_ended(status),
            hint=hint_for_killed(status),
        ) from error


def _ensure_wanted(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise JvmNotStarted("the start of the JVM was aborted")


def _log_file(config: EngineConfig, undo: ExitStack) -> IO[bytes] | None:
    if config.log_path is None:
        return None
    config.log_path.parent.mkdir(parents=True, exist_ok=True)
    return undo.enter_context(config.log_path.open("ab"))


def _is_to_write(config: EngineConfig, archive: ClassArchive) -> bool:
    """Return whether a JVM that starts now should write its archive at exit.

    Recording the classes makes a start a third more expensive, in vain if the machine stays busy
    until the end.
    """
    return config.writes_class_archive and archive.is_wanted and not is_busy()
