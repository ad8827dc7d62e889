"""A real HDFS in one process: Hadoop's MiniDFSCluster, one name node and one data node.

    fetch (Maven, once) ──► jars in the user's cache ──► Mini.java

Its ports are free ones of 127.0.0.1. `Mini.java` reads commands (a letter each) from standard input
and prints `done`.
"""

import queue
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

HERE: Final = Path(__file__).parent
FETCH_TIMEOUT_S: Final = 900
TIMEOUT_S: Final = 300
_JVM_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class PeerFailed(Exception):
    """The peer could not be fetched or started; the message has the reason."""


class HdfsPeer:
    """A file system in `directory`, as a context manager."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        fetched = subprocess.run(
            [str(HERE / "fetch")],
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
        if fetched.returncode:
            raise PeerFailed(fetched.stderr)
        libs = fetched.stdout.strip().splitlines()[-1]
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "said").open("wb") as errors:
            self._process = subprocess.Popen(
                [
                    "java",
                    *_JVM_OPTIONS,
                    "-cp",
                    f"{libs}/*:{libs}",
                    "Mini",
                    str(self.directory / "hdfs"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.directory,
            )
        threading.Thread(target=self._listen, args=[self._process], daemon=True).start()
        try:
            self.url = self._await("ready ").removeprefix("ready ")
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

    def enter_safe_mode(self) -> None:
        """Enter safe mode: refuse writes, as a name node with too few blocks does."""
        self._send("s")

    def leave_safe_mode(self) -> None:
        self._send("l")

    def use_the_quota_up(self) -> None:
        """Make every write fail with a quota of one byte."""
        self._send("q")

    def stop_name_node(self) -> None:
        self._send("d")

    def start_name_node(self) -> None:
        """Restart the file system on the same port and wait until it serves requests."""
        self._send("u")

    def _send(self, letter: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(letter)
        self._process.stdin.flush()
        self._await("done")

    def _await(self, begin: str) -> str:
        while True:
            try:
                line = self._said.get(timeout=TIMEOUT_S)
            except queue.Empty:
                line = ""
            if line.startswith(begin):
                return line.strip()
            if not line:
                said = (self.directory / "said").read_text(errors="replace")[-2000:]
                raise PeerFailed(f"HDFS has not said {begin!r}: {said}")

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put(line)
        self._said.put("")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # Its files are removed with the test's directory.
            process.wait(TIMEOUT_S)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
