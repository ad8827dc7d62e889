"""Runs Java programs of Apache Kafka's own tools and tests."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conformance.kafka.peer import fetch  # noqa: E402  It lives among the tests.

LOGGING = ROOT / "tests/conformance/kafka/log4j2.properties"


class JavaProgram:
    """A program that runs in the background, with its output in a file."""

    def __init__(
        self,
        log: Path,
        main_class: str,
        *arguments: str,
        more_jars: Path | None = None,
        jvm_options: Sequence[str] = (),
    ) -> None:
        jars = [f"{fetch()}/*"] + ([f"{more_jars}/*"] if more_jars else [])
        self.log = log
        self._command = [
            "java",
            "-Xmx384m",
            "-XX:+UseSerialGC",
            f"-Dlog4j2.configurationFile=file:{LOGGING}",
            *jvm_options,
            "-cp",
            ":".join(jars),
            main_class,
            *arguments,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status, or None where it still runs after `timeout_s`."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def wait_for(self, text: str, timeout_s: float) -> bool:
        """Wait until the output holds `text`; False where it does not in time."""
        assert self._process is not None
        end = time.monotonic() + timeout_s
        while text not in self.output:
            if time.monotonic() > end or self._process.poll() is not None:
                return text in self.output
            time.sleep(0.2)
        return True

    def terminate(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def run_java(
    log: Path,
    main_class: str,
    *arguments: str,
    timeout_s: float,
    more_jars: Path | None = None,
    jvm_options: Sequence[str] = (),
) -> tuple[int | None, str]:
    """Run a program to its end; return its status (None: out of time) and its output."""
    log.unlink(missing_ok=True)
    with JavaProgram(
        log, main_class, *arguments, more_jars=more_jars, jvm_options=jvm_options
    ) as program:
        status = program.wait(timeout_s)
    return status, program.output
