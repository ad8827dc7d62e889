"""A short soak run: 20 queries, clients and kills at once; its checks find what is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_every_answer_is_right_through_a_kill_of_the_server_and_of_the_broker(
    tmp_path: Path,
) -> None:
    report = tmp_path / "report.json"
    words = "--minutes 0.4 --rate 40 --pulls 50 --pushes 10 --server-kills 1 --broker-kills 1 --sample-s 1"

    done = subprocess.run(
        [sys.executable, "-m", "bench.soak.soak", *words.split(), "--report", str(report)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    found = json.loads(report.read_text())
    assert found["violations"] == []
    assert [one["what"] for one in found["kills"]] == ["server", "broker"]
    assert len(found["queries"]) == 20
    assert all(one["rows"] and not one["wrong"] for one in found["queries"])
    assert found["pull"]["answers"] > 0
    assert found["push"]["rows"] >= found["events"]
    names = {one["process"] for one in found["memory"]}
    assert names == {"broker", "registry", "server", "jvm"}
