"""The one Spark session of this process: started once, kept warm, stopped at the end.

Start to first row costs seconds (JVM, jars, first plan), so every query of a process shares it.
What is set here binds the meaning of a query and is the same for all of them:

    ANSI off, UTC           expressions mean what the plan says, wherever the machine stands
    adaptive execution off  a replayed micro-batch splits its rows as the first run did
    RocksDB, changelog      state is on disk, a commit writes what changed, memory is bounded
    operator check off      Spark admits the chain of stateful operators; the planner owns the checks

Thread rule: `open_session` and `close_session` may be called from any thread.
"""

import atexit
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pyspark
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from duolog.core.units import KIB, MIB
from duolog.engine.class_archive import ClassArchive
from duolog.engine.errors import KernelMissing
from duolog.engine.jars import cache_dir, connector_jars, kernel_jar
from duolog.engine.java import ensure_java
from duolog.engine.settings import EngineConfig

_ROCKSDB: Final = "spark.sql.streaming.stateStore.rocksdb"
_MEANING: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Spark would put settings and environment variables in the place of "${…}" in a literal or a name.
    "spark.sql.variable.substitute": "false",
    # Columns "a" and "A" are two.
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.unsupportedOperationCheck": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Version 1 can lose data on a failure in real time, which refuses such a checkpoint.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
    f"{_ROCKSDB}.boundedMemoryUsage": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # How long the shuffle of real time may hold a record back: 50 ms for each shuffle by default.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    # Hadoop's own local files start a process for each chmod: 50 of them at the end of an epoch.
    "spark.hadoop.fs.file.impl": "org.duolog.kernel.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.duolog.kernel.LocalFiles$Context",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000ms",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

# A JVM that writes the archive of classes takes some seconds more.
_END_TIMEOUT_S: Final = 30


@dataclass(slots=True)
class _Opened:
    spark: SparkSession
    scratch: ExitStack
    java_process: Any


_lock = threading.Lock()
_opened: _Opened | None = None


def open_session(config: EngineConfig, *, extra: Mapping[str, str] | None = None) -> SparkSession:
    """Return the session of this process, started on the first call.

    A later call gets the same session, whatever its config says: a process has one JVM.

    Raises:
        JavaMissing: there is no Java that Spark can run on.
        ConnectorMissing: the Kafka connector cannot be had.
        KernelMissing: the wheel holds no kernel.
    """
    global _opened  # noqa: PLW0603 - a process can hold only one JVM, and so one session
    with _lock:
        if _opened is None:
            _opened = _start(config, extra or {})
            atexit.register(close_session)
        return _opened.spark


def close_session() -> None:
    """Stop the session and its JVM, and remove their scratch files. Does nothing when closed."""
    global _opened
    with _lock:
        opened, _opened = _opened, None
    if opened is None:
        return
    # The JVM may be gone already, killed by the signal that ends this process too.
    with contextlib.suppress(Py4JError, ConnectionError):
        opened.spark.stop()
    opened.scratch.close()


def java_pid() -> int:
    """Return the process id of the session's JVM."""
    assert _opened is not None, "no session is open"
    return int(_opened.java_process.pid)


def slots_of(spark: SparkSession) -> int:
    """Return how many Spark tasks run at once: what a real-time query must fit into."""
    return spark.sparkContext.defaultParallelism


def _start(config: EngineConfig, extra: Mapping[str, str]) -> _Opened:
    java = ensure_java()
    jars = (*connector_jars(config.connector), kernel_jar())
    # Where Spark starts a Python worker it must be this interpreter, not `python3` of PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with ExitStack() as undo:
        scratch = Path(tempfile.mkdtemp(prefix="duolog-spark-"))
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        archive = ClassArchive.of(
            java, (*_spark_jars(), *jars), cache_dir=cache_dir(), scratch=scratch
        )
        java_options = archive.java_options(write=config.writes_class_archive)
        conf = SparkConf(loadDefaults=False)
        settings = session_conf(config, jars, scratch, java_options) | dict(extra)
        conf.setAll(list(settings.items()))
        gateway = _launch_java(conf, _log_file(config, undo), scratch)
        # Run in the reverse order: the JVM ends, then what it has written is kept.
        undo.callback(_keep_written, archive, gateway.proc)
        undo.callback(_end_java, gateway.proc)
        undo.callback(_forget_gateway)
        context = SparkContext(conf=conf, gateway=gateway)
        spark = SparkSession(context)
        _register_kernel(spark)
        kept = undo.pop_all()
    return _Opened(spark, kept, gateway.proc)


def session_conf(
    config: EngineConfig, jars: tuple[Path, ...], scratch: Path, java_options: str = ""
) -> dict[str, str]:
    """Return Spark's settings for `config`."""
    log4j = Path(__file__).with_name("log4j2.properties")
    return _MEANING | {
        "spark.master": config.master,
        "spark.app.name": "duolog",
        # Not `spark.jars`, which copies them at every start and loads them apart.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.driver.memory": f"{config.driver_memory_bytes // KIB}k",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={log4j.as_uri()} -Djava.io.tmpdir={scratch} "
            f"-XX:+UseG1GC {java_options}"
        ),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        f"{_ROCKSDB}.maxMemoryUsageMB": str(config.state_memory_bytes_max // MIB),
    }


def _spark_jars() -> list[Path]:
    return sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))


def _log_file(config: EngineConfig, undo: ExitStack) -> IO[bytes] | None:
    if config.log_path is None:
        return None
    config.log_path.parent.mkdir(parents=True, exist_ok=True)
    return undo.enter_context(config.log_path.open("ab"))


def _launch_java(conf: SparkConf, log: IO[bytes] | None, scratch: Path) -> JavaGateway:
    # The JVM works in its scratch directory: a stray file (derby.log, …) is removed with it.
    popen = {"cwd": str(scratch)} | ({"stdout": log, "stderr": log} if log else {})
    gateway: JavaGateway = launch_gateway(conf, popen)  # type: ignore[no-untyped-call]
    return gateway


def _end_java(process: Any) -> None:
    # The gateway ends when its standard input does.
    if process is None or process.poll() is not None:
        return
    process.stdin.close()
    try:
        process.wait(timeout=_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _forget_gateway() -> None:
    # PySpark keeps the gateway for the life of the process, and would ask a JVM that has ended.
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


def _keep_written(archive: ClassArchive, process: Any) -> None:
    # A JVM that was killed has left half an archive.
    if process is not None and process.poll() == 0:
        archive.keep()


def _register_kernel(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to a Java class
    try:
        jvm.org.duolog.kernel.Kernel.register(spark._jsparkSession)  # noqa: SLF001
    except TypeError as error:  # py4j: a package is not callable, so there is no such class
        raise KernelMissing("the kernel jar has no kernel in it", detail=str(error)) from error
