"""The main job: flights through a broker, Spark and two tables, compared with one batch."""

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
    deadline = time.monotonic() + 20
    while left := processes_that_name(directory):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.parametrize(
    "mode", ["auto", "real-time", pytest.param("micro-batch", marks=pytest.mark.deep)]
)
def test_the_tables_equal_the_batch_and_a_second_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    first = run(data, "--mode", mode, "--limit", "3000")
    commits = len(list(data.glob("checkpoints/*/spark/commits/[0-9]*")))
    second = run(data, "--mode", mode, "--limit", "5000")

    assert 0 < commits < len(list(data.glob("checkpoints/*/spark/commits/[0-9]*")))

    assert (first["events"], first["matches_batch"]) == (3_000, True)
    assert (second["events"], second["matches_batch"]) == (5_000, True)
    assert list(first) == [
        "events",
        "matches_batch",
        "seconds_to_first_row",
        "events_per_second",
        "p50_ms",
        "p99_ms",
    ]
    wait_until_nothing_names(tmp_path)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        (signal.SIGKILL, -9),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.deep),
    ],
)
def test_a_signal_leaves_nothing_running_and_the_next_run_goes_on(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    words = demo(tmp_path, "--mode", "micro-batch", "--rate", "1000", "--limit", "200000")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        counted = (json.loads(line)["events"] for line in process.stdout)
        assert any(events > 0 for events in counted)

        process.send_signal(number)

        assert process.wait(60) == status
    wait_until_nothing_names(tmp_path)

    again = run(tmp_path, "--mode", "micro-batch", "--limit", "1000")
    assert again["matches_batch"] is True
