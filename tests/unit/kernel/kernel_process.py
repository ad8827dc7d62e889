"""Run a kernel in a JVM without Spark: the transactions of a driver and of executors, called from Python.

Calls are those of the kernel's `Transactions`, as `duolog.engine.exactly_once.transactions` makes
them; `executor_writes`, `commits` and `fence` are what tasks, Spark and the broker do.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unit.kernel.java_program import java_command

_STOP_S = 60


class KernelFailed(RuntimeError):
    """The kernel has thrown; the text begins with the exception's class."""


class KernelProcess:
    """One JVM, as a context manager. `point` ends it there, as `fault.points` says."""

    def __init__(self, settings: Mapping[str, str], point: str = "") -> None:
        self.settings = dict(settings)
        command = java_command("ExecutorTransactionsServer", json.dumps(self.settings))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | ({"DUOLOG_POINT": point} if point else {}),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait(_STOP_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def markers(self, name: str, _settings: object) -> str:
        return str(self._call("markers", name))

    def open(self, spark_dir: str, name: str, host: str, _settings: object, *how: bool) -> str:
        return str(self._call("open", spark_dir, name, host, *how))

    def describe(self, parts: str, _settings: object) -> str:
        return str(self._call("describe", parts))

    def commitParts(self, parts: str, _settings: object) -> None:
        self._call("commitParts", parts)

    def abortParts(self, parts: str, _settings: object) -> None:
        self._call("abortParts", parts)

    def mark(self, spark_dir: str, query: str, epoch: int) -> None:
        self._call("mark", spark_dir, query, epoch)

    def endOthers(self, spark_dir: str, _settings: object) -> None:
        self._call("endOthers", spark_dir)

    def close(self, spark_dir: str) -> None:
        self._call("close", spark_dir)

    def executor_writes(
        self, spark_dir: Path, executor: str, epoch: int, topic: str, key: str
    ) -> str:
        """Write a record to a topic as a task does; return the transactional id."""
        return str(self._call("write", str(spark_dir), executor, epoch, topic, key))

    def commits(self, spark_dir: Path, epoch: int) -> None:
        """Make the calls around the rename of Spark's commit entry: prepare, commit, record as committed."""
        arriving = spark_dir / f"arriving.{epoch}"
        arriving.write_text(f'v2\n{{"of":{epoch}}}')
        self._call("prepare", str(spark_dir), epoch, str(arriving))
        self._call("commit", str(spark_dir), epoch)
        (spark_dir / "commits").mkdir(exist_ok=True)
        arriving.rename(spark_dir / "commits" / str(epoch))
        self._call("committed", str(spark_dir))

    def fence(self, transactional_id: str) -> None:
        """Break its transaction off, as the broker does with one that takes too long."""
        self._call("fence", transactional_id)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def _call(self, *words: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            self._process.wait(_STOP_S)
            raise KernelFailed("the JVM has ended")
        answer = json.loads(said)
        if "error" in answer:
            raise KernelFailed(f"{answer['error']}: {answer['message']}")
        return answer["value"]
