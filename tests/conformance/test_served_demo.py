"""`duolog demo --server`: the flights in SQL, read by clients over HTTP, equal a batch."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conformance.test_demo import demo, run, wait_until_nothing_names
from duolog.cli.demo.clients import Skipped, ensure_node, ensure_python

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TIMEOUT_S = 280


def expected_clients(data: Path) -> dict[str, str]:
    """Return what each client is to report, on a machine that may lack some of them."""
    found = {"curl": "equal", "ksqldb": "equal", "ksqldb-client": "equal", "pandas": "equal"}
    clients = data.resolve() / "server/clients"
    for name, ensure in (("ksqldb", ensure_python), ("ksqldb-client", ensure_node)):
        try:
            ensure(clients / ("python" if name == "ksqldb" else "node"))
        except Skipped as reason:
            found[name] = f"skipped: {reason}"
    if shutil.which("curl") is None:
        found["curl"] = "skipped: curl is not on PATH"
    return found


def test_all_clients_read_what_the_batch_counts_and_a_second_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    words = demo(data, "--server", "--limit", "200000")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        counted = (json.loads(line)["events"] for line in process.stdout)
        assert next((events for events in counted if events), None), "the demo ended by itself"

        process.send_signal(signal.SIGINT)

        assert process.wait(TIMEOUT_S) == 130
    wait_until_nothing_names(tmp_path)

    last = run(data, "--server", "--limit", "3000")

    assert int(str(last["events"])) >= 3_000
    assert last["matches_batch"] is True
    assert last["clients"] == expected_clients(data)
    wait_until_nothing_names(tmp_path)


def test_a_wrong_answer_is_an_exit_status(tmp_path: Path) -> None:
    """A `curl` that renames a carrier: the other clients agree with the batch."""
    liar = tmp_path / "bin/curl"
    liar.parent.mkdir()
    liar.write_text(f'#!/bin/sh\n{shutil.which("curl")} "$@" | sed "s/\\"UA\\"/\\"XX\\"/"\n')
    liar.chmod(0o755)
    path = f"{liar.parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        demo(tmp_path / "data", "--server", "--limit", "1000"),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
        env={**os.environ, "PATH": path},
    )

    assert done.returncode == 1, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["matches_batch"], last["clients"]["curl"]) == (False, "different")
    assert last["clients"]["pandas"] == "equal"
    assert "curl: flights-by-airline XX" in done.stderr
    wait_until_nothing_names(tmp_path)
