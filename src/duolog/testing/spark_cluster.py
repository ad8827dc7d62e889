"""A standalone Spark cluster on 127.0.0.1: processes of a master, workers and executors.

    with SparkCluster(workers=2) as cluster: application = Application(topology, …,
        settings={"master": cluster.master, "spark.executor.memory": "600m"})
        cluster.kill_worker(0)      # its executor is killed too
        cluster.add_worker()

Master and worker are classes in pyspark's jars. A worker's cores are slots, as in `local[64]`: a
real-time query uses one for each partition that it reads and each task of each level.

`python -m duolog.testing.spark_cluster --workers 2` runs a cluster until Ctrl-C; `scripts/cluster`
does the same.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from duolog.core.operating_system.proc_files import child_ids
from duolog.engine.jvm.jars import spark_home
from duolog.engine.jvm.java import ensure_java

HOST: Final = "127.0.0.1"
CORES_DEFAULT: Final = 16
MEMORY_DEFAULT: Final = "1g"
START_TIMEOUT_S: Final = 60.0
if sys.platform == "win32":
    _KILL: Final = signal.SIGTERM
    """Windows ends a process at once by this one."""
else:
    _KILL: Final = signal.SIGKILL

_SPARK_HOME: Final = spark_home()
_DAEMON: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_REGISTERED: Final = "Successfully registered with master"
_STOP_S: Final = 20.0


class SparkClusterFailed(RuntimeError):
    """A process of the cluster did not start; the text has the end of its log."""


class SparkCluster:
    """A Spark master and workers, as a context manager that ends all of them.

    Args:
        directory: for logs and work directories; by default a temporary directory.
        workers: the initial number of workers.
        cores: the slots of each worker.
        memory: the memory of each worker, for all its executors, in Spark's form.
        port: the master's; 0 chooses a free port.
    """

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        workers: int = 2,
        cores: int = CORES_DEFAULT,
        memory: str = MEMORY_DEFAULT,
        port: int = 0,
    ) -> None:
        self._temporary: TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = TemporaryDirectory(prefix="duolog-spark-cluster-")
            directory = self._temporary.name
        self.directory = Path(directory).resolve()
        self._wanted = workers
        self._cores, self._memory = cores, memory
        self._port = port or _free_port()
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes] | None] = []

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._master = self._spawn(
                "master", _MASTER, "--host", HOST, "--port", str(self._port), "--webui-port", "0"
            )
            self._await(self._master, "master", "New state: ALIVE")
            for _ in range(self._wanted):
                self._spawn_worker()
            for number in range(self._wanted):
                self._await_worker(number)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def master(self) -> str:
        """The address of the master, for the setting `master`."""
        return f"spark://{HOST}:{self._port}"

    @property
    def workers(self) -> list[int]:
        """The numbers of the running workers."""
        return [number for number, worker in enumerate(self._workers) if worker is not None]

    def add_worker(self) -> int:
        """Start another worker, and wait until the master has registered it; return its number."""
        number = self._spawn_worker()
        self._await_worker(number)
        return number

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors with SIGKILL, which simulates the loss of a machine."""
        worker = self._workers[number]
        assert worker is not None, f"worker {number} does not run"
        executors = self.executors(number)
        for pid in (worker.pid, *executors):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, _KILL)
        worker.wait(_STOP_S)
        self._workers[number] = None

    def kill_executor(self, number: int) -> int:
        """Kill a worker's newest executor with SIGKILL; the worker replaces it. Return its pid."""
        pid = self.executors(number)[-1]
        os.kill(pid, _KILL)
        return pid

    def executors(self, number: int) -> list[int]:
        """Return the process ids of a worker's executors, oldest first."""
        worker = self._workers[number]
        if worker is None:
            return []
        return child_ids(worker.pid)

    def _spawn_worker(self) -> int:
        number = len(self._workers)
        name = f"worker-{number}"
        arguments = ["--host", HOST, "--webui-port", "0", "--cores", str(self._cores)]
        arguments += ["--memory", self._memory, "--work-dir", str(self.directory / name)]
        self._workers.append(self._spawn(name, _WORKER, *arguments, self.master))
        return number

    def _spawn(self, name: str, java_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        java = [str(ensure_java()), *_DAEMON, "-cp", f"{_SPARK_HOME}/jars/*"]
        env = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
        env |= {"SPARK_HOME": str(_SPARK_HOME), "SPARK_SCALA_VERSION": "2.13"}
        env |= {"SPARK_LOCAL_IP": HOST, "SPARK_LOCAL_DIRS": str(self.directory / "local")}
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - Spark's own classes
                [*_with_its_parent(), *java, java_class, *arguments],
                cwd=self.directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is meant for the process that runs the cluster.
            )

    def _await_worker(self, number: int) -> None:
        worker = self._workers[number]
        assert worker is not None
        self._await(worker, f"worker-{number}", _REGISTERED)

    def _await(self, process: subprocess.Popen[bytes], name: str, said: str) -> None:
        log = self.directory / f"{name}.log"
        deadline = time.monotonic() + START_TIMEOUT_S
        while said not in (text := log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SparkClusterFailed(f"{name} did not start:\n{text[-2000:]}")
            time.sleep(0.1)

    def _end(self) -> None:
        # End executors first: their driver may have ended already.
        for number, worker in enumerate(self._workers):
            if worker is not None:
                self.kill_worker(number)
        if self._master is not None:
            self._master.kill()
            self._master.wait(_STOP_S)
            self._master = None
        if self._temporary is not None:
            self._temporary.cleanup()


def _with_its_parent() -> list[str]:
    """Return a command prefix that ends a process with its parent, if the system can."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL"] if found else []


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


def main(arguments: Sequence[str]) -> int:
    """Run a cluster until Ctrl-C; print its address."""
    parser = argparse.ArgumentParser(prog="scripts/cluster", description=main.__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=CORES_DEFAULT, help="slots of a worker")
    parser.add_argument("--memory", default="2g", help="of a worker, for its executors")
    parser.add_argument("--port", type=int, default=7077)
    parser.add_argument("--directory", help="for logs; a temporary one if not given")
    given = parser.parse_args(arguments)
    cluster = SparkCluster(
        given.directory,
        workers=given.workers,
        cores=given.cores,
        memory=given.memory,
        port=given.port,
    )
    with cluster, contextlib.suppress(KeyboardInterrupt):
        print(cluster.master, flush=True)  # noqa: T201 - the answer of this program
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
