"""`--log-format json`: commands and their JVM write only JSON objects to standard error."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import waiting
from conformance.command import Duolog
from duolog.testing import EmbeddedCluster

WAIT_S = 200
TOPOLOGY = """
from duolog import Topology, col

def double(n: int) -> int:
    print("called with", n)
    return n * 2

topology = Topology("jsonlines")
numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
numbers.with_columns(twice=double).to("twice")
"""
SQL = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM numbers (id STRING KEY, n BIGINT) WITH (kafka_topic='numbers', value_format='JSON');
CREATE STREAM twice AS SELECT id, n * 2 AS twice FROM numbers;
"""


class Running:
    """A running command, and its standard error so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._come = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._come:
                self.lines.append(line)
                self._come.notify_all()

    def wait_for(self, part: str) -> None:
        with self._come:
            found = self._come.wait_for(lambda: any(part in one for one in self.lines), WAIT_S)
        assert found, f"no line has {part!r}: {self.lines}"

    def end(self) -> list[dict[str, Any]]:
        """Stop it with SIGINT, and return all lines as objects."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT_S)
        self._thread.join(WAIT_S)
        return [json.loads(line) for line in self.lines]


@contextmanager
def running(cwd: Path, *words: str) -> Iterator[Running]:
    command = [sys.executable, "-P", "-m", "duolog", *words, "--log-format", "json"]
    with subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def check(objects: list[dict[str, Any]]) -> None:
    assert objects
    for one in objects:
        assert {"time", "level", "logger", "message"} <= one.keys(), one
        assert one["time"].endswith("Z")
        assert one["level"] in {"DEBUG", "INFO", "WARN", "WARNING", "ERROR"}, one


def test_each_log_line_of_a_broker_is_an_object(tmp_path: Path) -> None:
    words = ("broker", "--listen", "127.0.0.1:0", "--data", "data")
    with running(tmp_path, *words) as broker:
        broker.wait_for("message")
        objects = broker.end()

    check(objects)
    assert broker.process.returncode in {0, 130}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "none.py"),
        ("run", "apart.py", "--such-an-option"),
        ("run", "apart.py", "-b", "127.0.0.1:1"),
        ("sql", "-b", "127.0.0.1:1", "-e", "SHOW TOPICS"),
        ("sql", "-e", "SHOW TOPICS", "-f", "none.sql"),
        ("broker", "--data", "/proc/none"),
    ],
)
def test_each_log_line_of_a_failing_command_is_an_object(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "apart.py").write_text(TOPOLOGY)

    with running(tmp_path, *words) as failing:
        failing.process.wait(WAIT_S)
        objects = failing.end()

    check(objects)
    assert objects[-1]["level"] == "ERROR"
    assert failing.process.returncode != 0


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", ["run", "sql"])
def test_each_log_line_of_a_running_application_is_an_object(tmp_path: Path, command: str) -> None:
    """JVM start, failed records and stop; the output of functions goes to standard output."""
    (tmp_path / "app.py").write_text(TOPOLOGY)
    (tmp_path / "app.sql").write_text(SQL)
    with EmbeddedCluster() as cluster:
        duolog = Duolog(cluster.bootstrap_servers)
        assert duolog("topics", "create", "numbers").returncode == 0
        assert duolog("produce", "numbers", "-K", ":", stdin='a:{"n": 1}\nb:{\n').returncode == 0
        file = ("run", "app.py") if command == "run" else ("sql", "-f", "app.sql")
        with running(tmp_path, *file, "-b", cluster.bootstrap_servers, "--data", "data") as process:
            topic = "twice" if command == "run" else "TWICE"
            read = ("consume", topic, "--from-beginning", "--until-end", "-o", "jsonl")
            waiting.wait_until(
                lambda: not ('"a"' not in duolog(*read).stdout), lambda: process.lines, WAIT_S
            )
            if command == "run":
                process.wait_for("skipped")
            objects = process.end()

    check(objects)


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", ["run", pytest.param("sql", marks=pytest.mark.deep)])
def test_ctrl_c_during_a_jvm_call_logs_no_traceback(tmp_path: Path, command: str) -> None:
    """Regression: py4j logged `KeyboardInterrupt while sending command.` with a traceback."""
    (tmp_path / "app.py").write_text(TOPOLOGY)
    (tmp_path / "app.sql").write_text(SQL)
    with EmbeddedCluster() as cluster:
        duolog = Duolog(cluster.bootstrap_servers)
        assert duolog("topics", "create", "numbers").returncode == 0
        file = ("run", "app.py") if command == "run" else ("sql", "-f", "app.sql")
        with running(tmp_path, *file, "-b", cluster.bootstrap_servers, "--data", "data") as process:
            # Spark starts in one call, during which it listens in addition to py4j.
            waiting.wait_until(
                lambda: not (ports_of_java(process.process.pid) < 2), lambda: process.lines, WAIT_S
            )
            objects = process.end()

    check(objects)
    assert not [one for one in objects if "Traceback" in json.dumps(one)]
    assert not [one for one in objects if one["level"] == "ERROR"]
    assert process.process.returncode in {0, 130}


def ports_of_java(parent: int) -> int:
    """Return the number of listening ports of the JVM that a process started."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path("/proc/net", name).read_text().splitlines()[1:]
    ]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    found = 0
    for pid in children_of(parent):
        with suppress(OSError):  # It may end meanwhile.
            if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
                open_files = Path(f"/proc/{pid}/fd").iterdir()
                found += len(listening & {str(one.readlink()) for one in open_files})
            found += ports_of_java(pid)
    return found


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found
