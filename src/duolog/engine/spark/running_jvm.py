"""The JVM of this process, with the Spark session in it."""

import contextlib
import shutil
import subprocess
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from duolog.engine.java_objects import JavaObject
from duolog.engine.jvm.exit_status import JvmEnd, how_ended
from duolog.engine.jvm.shutdown import JvmShutdown
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.executors import executors_left_in


@dataclass(eq=False, slots=True)
class RunningJvm:
    """The JVM and the session; its owners share both."""

    spark: SparkSession
    jvm: JavaObject
    """Access to Java.

    PySpark has one per process, which is None or the next JVM's once this JVM has ended.
    """
    scratch: ExitStack
    java_process: subprocess.Popen[bytes] | None
    config: EngineConfig
    end: JvmShutdown
    owners: set[object] = field(default_factory=set)
    kernel: dict[str, JavaObject] = field(default_factory=dict)
    """Classes of the kernel, by name."""
    by_partitions: dict[int, SparkSession] = field(default_factory=dict)
    """Sessions of the same JVM, by their number of shuffle partitions."""
    opening: threading.Lock = field(default_factory=threading.Lock)

    @property
    def has_ended(self) -> bool:
        return self._exit_status is not None

    @property
    def how_it_ended(self) -> str:
        """A sentence about the end of the JVM; empty while it runs."""
        status = self._exit_status
        return "" if status is None else how_ended(status)

    @property
    def its_end(self) -> JvmEnd | None:
        """The end of the JVM; None while it runs."""
        status, process = self._exit_status, self.java_process
        return None if status is None or process is None else JvmEnd.of(process.pid, status)

    @property
    def _exit_status(self) -> int | None:
        return None if self.java_process is None else self.java_process.poll()

    def stop(self) -> None:
        """Stop Spark, end the JVM and remove its scratch files."""
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
