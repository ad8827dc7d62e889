"""Engines that follow each other, or stand side by side, in one process with its one JVM."""

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import os
import signal
import sys
import time
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

SIDE_BY_SIDE = """
first = Engine(config)
second = Engine(replace(config, log_path=directory / "second.log"))
for engine in (first, second, first):
    engine.warm_up()
first.close()
count(1)
try:
    Engine(replace(config, master="local[2]")).warm_up()
except ConfigError as error:
    print(error.message)
second.close()
print((directory / "second.log").read_text().strip().rpartition(" ")[2] == str(config.log_path))
"""

ONE_AFTER_THE_OTHER = """
engine = Engine(config)
engine.warm_up()
count(2)
"""

KILLED = """
os.kill(open_session(config).java_pid, signal.SIGKILL)
while not engine._opened.has_ended:
    time.sleep(0.01)
engine.warm_up()
count(3)
engine.close()
"""

LEAKS = """
import gc, threading

for number in range(2):
    engine = Engine(config)
    engine.warm_up()
    other = threading.Thread(target=count, args=[number])
    other.start()
    other.join()
    engine.close()
    del engine
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    print(threading.active_count(), len(os.listdir("/proc/self/fd")))
"""


def outputs(program: str, directory: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", OPENED + program, str(directory)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.spark
def test_engines_share_a_jvm_that_goes_with_the_last_of_them_and_is_made_anew(
    tmp_path: Path,
) -> None:
    """PySpark kept the gateway of the first JVM: the next start asked a process that was gone."""
    assert outputs(SIDE_BY_SIDE + ONE_AFTER_THE_OTHER + KILLED, tmp_path) == [
        "1 1 False",
        "setting \"master\" cannot be 'local[2]' here: this process runs Spark with 'local[1]'",
        "True",
        "2 2 False",
        "3 3 False",
    ]


@pytest.mark.spark
def test_an_engine_that_has_closed_holds_neither_threads_nor_descriptors(tmp_path: Path) -> None:
    """Of each a thread of py4j stayed, and with it the connections to a JVM that had ended."""
    held = outputs(LEAKS, tmp_path)[1::2]

    assert held[0].startswith("1 ")
    assert held == [held[0]] * 2
