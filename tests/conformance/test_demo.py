"""Compare the demo (flights through a broker, Spark and two tables) with one batch."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

TIMEOUT_S = 280


def demo(data_dir: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "duolog", "demo", "--data", str(data_dir), "--json", *words]


def run(data_dir: Path, *words: str) -> dict[str, object]:
    done = subprocess.run(
        demo(data_dir, *words), capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    last: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return last


def processes_that_name(directory: Path) -> list[str]:
    """Return the command lines of running processes that name `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(directory) in command:
            found.append(command)
    return found


def wait_until_nothing_names(directory: Path) -> None:
    deadline = time.monotonic() + 60
    while left := processes_that_name(directory):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def end_by_signal(
    data_dir: Path, number: signal.Signals, status: int, *, events_before: int = 0
) -> int:
    """Start the demo, signal it after it counted and committed more; return the count."""
    words = demo(data_dir, "--mode", "micro-batch", "--rate", "300", "--limit", "200000")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        counted = (json.loads(line)["events"] for line in process.stdout)
        far = (events for events in counted if events > events_before and commits_in(data_dir))
        events = next(far, None)
        assert events is not None, "the demo ended by itself"

        process.send_signal(number)

        # The first run writes the class archive when it stops, which takes seconds of CPU time.
        assert process.wait(TIMEOUT_S) == status
    wait_until_nothing_names(data_dir.resolve())
    return int(events)


def commits_in(data_dir: Path) -> int:
    return len(list(data_dir.glob("checkpoints/*/spark/commits/[0-9]*")))


@pytest.mark.timeout(600)
def test_tables_equal_the_batch_after_a_stop_and_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One relative data directory for both modes, because each start takes long."""
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    events = end_by_signal(data, signal.SIGINT, 130)
    commits = commits_in(data)
    end_by_signal(data, signal.SIGKILL, -9, events_before=events)

    last = run(data, "--mode", "auto", "--limit", "5000")

    assert list(last) == [
        "events",
        "matches_batch",
        "seconds_to_first_row",
        "events_per_second",
        "p50_ms",
        "p99_ms",
    ]
    assert 0 < commits < commits_in(data)
    assert int(str(last["events"])) >= 5_000
    assert last["matches_batch"] is True
    wait_until_nothing_names(tmp_path)


@pytest.mark.timeout(600)
def test_tables_in_avro_equal_the_batch_and_a_second_run_continues(tmp_path: Path) -> None:
    first = run(tmp_path, "--format", "avro", "--limit", "3000")
    second = run(tmp_path, "--format", "avro", "--limit", "5000")

    assert (first["events"], first["matches_batch"]) == (3_000, True)
    assert (second["events"], second["matches_batch"]) == (5_000, True)
    assert (tmp_path / "avro" / "registry.log").exists()
    wait_until_nothing_names(tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["auto", "real-time", "micro-batch"])
def test_tables_equal_the_batch_and_a_second_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    first = run(data, "--mode", mode, "--limit", "3000")
    commits = commits_in(data)
    second = run(data, "--mode", mode, "--limit", "5000")

    assert 0 < commits < commits_in(data)
    assert (first["events"], first["matches_batch"]) == (3_000, True)
    assert (second["events"], second["matches_batch"]) == (5_000, True)
    wait_until_nothing_names(tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9), (signal.SIGTERM, 143)]
)
def test_signal_stops_all_processes_and_the_next_run_continues(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    end_by_signal(tmp_path, number, status)

    again = run(tmp_path, "--mode", "micro-batch", "--limit", "1000")
    assert again["matches_batch"] is True
