"""Consecutive and concurrent engines in one process, which has one JVM."""

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import gc
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig
from duolog.engine.spark.session import open_session

directory = Path(sys.argv[1])
config = EngineConfig("127.0.0.1:1", directory, master="local[1]", log_path=directory / "engine.log")

def count(number):
    share = open_session(config)
    print(number, share.spark.range(number).count(), share.has_ended)
    share.close()

def tell_what_is_held():
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    print(threading.active_count(), len(os.listdir("/proc/self/fd")))

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
print((directory / "second.log").read_text().strip().rpartition(" ")[2] == str(config.log_path))
other = threading.Thread(target=count, args=[2])
other.start()
other.join()
second.close()
del engine, first, second
tell_what_is_held()

engine = Engine(config)
engine.warm_up()
count(3)
os.kill(open_session(config).java_pid, signal.SIGKILL)
while not engine._session.opened.has_ended:
    time.sleep(0.01)
engine.warm_up()
other = threading.Thread(target=count, args=[4])
other.start()
other.join()
engine.close()
del engine
tell_what_is_held()
"""


def outputs(directory: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(directory)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.deep
@pytest.mark.spark
def test_engines_share_a_jvm_that_stops_with_the_last_and_restarts(
    tmp_path: Path,
) -> None:
    """Regression: PySpark kept the gateway of the first, stopped JVM for the next start.

    Each closed engine also left a py4j thread, and with it connections to a JVM that
    had ended.
    """
    *side_by_side, held, after, renewed, held_again = outputs(tmp_path)

    assert side_by_side == [
        "1 1 False",
        "setting \"master\" cannot be 'local[2]' here: this process runs Spark with 'local[1]'",
        "True",
        "2 2 False",
    ]
    assert (after, renewed) == ("3 3 False", "4 4 False")
    assert held.startswith("1 ")
    assert held_again == held
