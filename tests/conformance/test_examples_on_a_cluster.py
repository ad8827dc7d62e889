"""Run the Python examples on a Spark cluster of two workers, set by the environment only.

Each says what it says in one process, and its executors leave their work directories with the
workers.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from conformance.test_examples import EXAMPLES, ON_ONE_JVM
from duolog.engine.settings import MASTER_VARIABLE
from duolog.testing import SparkCluster

PROGRAMS: Final = sorted({*ON_ONE_JVM, "11_crash.py"})
"""Those of `test_examples.PROGRAMS` that start an application."""
TIMEOUT_S: Final = 580

pytestmark = [pytest.mark.deep, pytest.mark.spark, pytest.mark.timeout(TIMEOUT_S + 20)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark"), memory="2g") as running:
        yield running


def run(cluster: SparkCluster, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=EXAMPLES.parent,
        env=os.environ | {MASTER_VARIABLE: cluster.master},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def executors(cluster: SparkCluster) -> set[Path]:
    """Return the work directories of all executors that the cluster has had."""
    return set(cluster.directory.glob("worker-*/app-*/*"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_example_runs_on_a_cluster_named_only_in_the_environment(
    cluster: SparkCluster, name: str
) -> None:
    before = executors(cluster)

    done = run(cluster, [str(EXAMPLES / name)])

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert "Note: " in done.stdout
    workers = {path.parents[1] for path in executors(cluster) - before}
    assert len(workers) == len(cluster.workers)
