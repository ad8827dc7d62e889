import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path

from duolog.engine import Engine, EngineConfig
from duolog.engine.session import open_session

for number in (1, 2):
    config = EngineConfig("127.0.0.1:1", Path(sys.argv[1]), master="local[1]")
    engine = Engine(config)
    engine.warm_up()
    print(number, open_session(config).range(number).count())
    engine.close()
"""


@pytest.mark.spark
def test_an_engine_opens_in_a_process_that_has_closed_one(tmp_path: Path) -> None:
    """PySpark kept the gateway of the first JVM: the second start asked a process that was gone."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "checkpoints")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 1", "2 2"]
