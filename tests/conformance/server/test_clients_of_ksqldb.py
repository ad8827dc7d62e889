"""The checks of `compat/` with clients of ksqlDB, as far as their packages are here.

AKHQ and the .NET client need none: their checks send what these send. The packages of the others
are installed by `compat/run NAME`, which also runs their own tests, and all checks with logins.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.server.started import started
from conftest import RequireProgram

COMPAT = Path(__file__).parents[3] / "compat"
CACHE = COMPAT / ".cache"
LIMIT_S = 600
PYTHON = "{cache}/venv/bin/python"
PROGRAMS = {
    "akhq": (sys.executable, "akhq/checks.py"),
    "ksqldb_dotnet": (sys.executable, "ksqldb_dotnet/checks.py"),
    "ksqldb_python": (PYTHON, "ksqldb_python/checks.py"),
    "ksql_python_ng": (PYTHON, "ksql_python/checks.py"),
    "ksqldb_go": ("{cache}/checks", "h2c"),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, require_program: RequireProgram) -> Iterator[str]:
    require_program("java", package="openjdk-17-jre-headless")
    with started(tmp_path_factory.mktemp("start")) as one:
        yield one.ready()["server"].replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_client_is_answered_as_it_expects(name: str, url: str) -> None:
    program, argument = PROGRAMS[name]
    found = program.format(cache=CACHE / name)
    if not Path(found).exists():
        pytest.skip(f"compat/run {name} installs the client")
    env = os.environ | {"SQL_URL": url, "KIND": "ng", "PYTHONPATH": str(COMPAT / "lib")}

    done = subprocess.run(
        [found, str(COMPAT / argument) if argument.endswith(".py") else argument],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )

    lines = done.stdout.splitlines()
    assert lines[-1:] == ["done"], done.stdout + done.stderr
    assert [line for line in lines if line.startswith("not ok")] == []
    assert sum(line.startswith("ok - ") for line in lines) >= 7
