"""Two processes on one checkpoint, and what each of them may still do."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import waiting
from duolog.testing import Client, EmbeddedCluster

PROGRAM = Path(__file__).with_name("owner_program.py")
KEYS = "abcdefgh"
MODES = ("micro-batch", "real-time")
WAIT_S = 120


class Process:
    """Both applications, in a process group of their own with their JVM."""

    def __init__(self, bootstrap_servers: str, directory: Path, data_dir: Path) -> None:
        self._said = (directory / "said").open("wb")
        self._running = subprocess.Popen(
            [sys.executable, str(PROGRAM), bootstrap_servers, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=os.environ | {"TMPDIR": str(directory)},
            start_new_session=True,
        )

    def send(self, line: str) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(f"{line}\n")
        self._running.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        assert line, Path(self._said.name).read_text()[-4000:]
        answer: dict[str, Any] = json.loads(line)
        return answer

    def signal(self, number: int) -> None:
        """Send a signal to the process and its JVM."""
        os.killpg(self._running.pid, number)

    def end(self) -> None:
        self.signal(signal.SIGKILL)
        self._running.communicate(timeout=WAIT_S)
        self._said.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        yield cluster


def results(client: Client, mode: str) -> dict[str, list[int]]:
    """Return the counts of each key in the order in which they were written."""
    found: dict[str, list[int]] = {}
    for record in client.read(f"out-{mode}"):
        assert record.key_text is not None
        assert record.value_text is not None
        found.setdefault(record.key_text, []).append(json.loads(record.value_text)["n"])
    return found


def wait_for_results(client: Client, count: int) -> None:
    waiting.wait_until(
        lambda: (
            not any(
                {key: counts[-1] for key, counts in results(client, mode).items()}
                != dict.fromkeys(KEYS, count)
                for mode in MODES
            )
        ),
        lambda: [results(client, mode) for mode in MODES],
        WAIT_S,
    )


def produce_one_of_each(client: Client) -> None:
    for key in KEYS:
        client.produce("in", key, '{"n": 1}')


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_an_owner_that_was_replaced_while_it_was_paused_writes_nothing_more(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """Both wrote: 20 of 50 keys kept an older value for good."""
    client = Client(cluster.bootstrap_servers)
    client.create_topic("in", partitions=2)
    produce_one_of_each(client)
    directories = [tmp_path / name for name in ("first", "second")]
    for directory in directories:
        directory.mkdir()
    first, second = (
        Process(cluster.bootstrap_servers, directory, tmp_path / "data")
        for directory in directories
    )
    try:
        assert [first.answer(), second.answer()] == [{"ready": True}] * 2
        began = time.monotonic()
        first.send("here")
        assert first.answer() == {"started": True}
        started_s = time.monotonic() - began
        wait_for_results(client, 1)

        began = time.monotonic()
        second.send("here")
        refused = second.answer()
        refused_s = time.monotonic() - began

        assert refused_s < started_s, "it was refused only when its own JVM was there"
        assert refused["refused"] == 'application "micro-batch" runs in another process'
        assert "is held by process " in refused["detail"]

        first.signal(signal.SIGSTOP)
        produce_one_of_each(client)
        second.send("elsewhere")
        assert second.answer() == {"started": True}
        wait_for_results(client, 2)
        for _ in range(3):
            produce_one_of_each(client)
        wait_for_results(client, 5)
        first.signal(signal.SIGCONT)
        ended = [first.answer(), first.answer()]

        assert {end["failed"] for end in ended} == set(MODES)
        for end in ended:
            assert "another process" in end["message"]
            assert end["hint"].startswith("This process no longer owns the checkpoint.")
        produce_one_of_each(client)
        wait_for_results(client, 6)
        for mode in MODES:
            assert all(counts == sorted(counts) for counts in results(client, mode).values())
    finally:
        first.end()
        second.end()
