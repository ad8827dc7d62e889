"""Engines that follow each other, or stand side by side, in one process with its one JVM."""

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import sys
from dataclasses import replace
from pathlib import Path

from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig
from duolog.engine.session import open_session

directory = Path(sys.argv[1])
config = EngineConfig("127.0.0.1:1", directory, master="local[1]", log_path=directory / "engine.log")

def count(number):
    share = open_session(config)
    print(number, share.spark.range(number).count(), share.has_ended)
    share.close()
"""

ONE_AFTER_THE_OTHER = """
for number in (1, 2):
    engine = Engine(config)
    engine.warm_up()
    count(number)
    engine.close()
"""

SIDE_BY_SIDE = """
first = Engine(config)
second = Engine(replace(config, log_path=directory / "second.log"))
for engine in (first, second, first):
    engine.warm_up()
first.close()
count(3)
try:
    Engine(replace(config, master="local[2]")).warm_up()
except ConfigError as error:
    print(error.message)
second.close()
print((directory / "second.log").read_text().strip().rpartition(" ")[2] == str(config.log_path))
"""

ENDED = """
import os, signal
engine = Engine(config)
engine.warm_up()
os.kill(open_session(config).java_pid, signal.SIGKILL)
while not engine._opened.has_ended:
    pass
engine.warm_up()
count(4)
engine.close()
"""


def outputs(program: str, directory: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", OPENED + program, str(directory)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.spark
def test_an_engine_opens_in_a_process_that_has_closed_one(tmp_path: Path) -> None:
    """PySpark kept the gateway of the first JVM: the second start asked a process that was gone."""
    assert outputs(ONE_AFTER_THE_OTHER, tmp_path) == ["1 1 False", "2 2 False"]


@pytest.mark.spark
def test_an_engine_that_closes_leaves_the_jvm_to_the_others_of_its_process(tmp_path: Path) -> None:
    assert outputs(SIDE_BY_SIDE, tmp_path) == [
        "3 3 False",
        "setting \"master\" cannot be 'local[2]' here: this process runs Spark with 'local[1]'",
        "True",
    ]


@pytest.mark.spark
def test_an_engine_whose_jvm_was_killed_starts_another(tmp_path: Path) -> None:
    assert outputs(ENDED, tmp_path) == ["4 4 False"]
