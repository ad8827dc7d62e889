"""Each program under `examples/` runs by itself, ends well, and says what to notice."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("[0-9]*.py"))
WITHOUT_SPARK = {"01_hello_topic.py", "09_trucks_and_partitions.py", "15_history.py"}


def run(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert "Notice: " in done.stdout


@pytest.mark.parametrize("name", sorted(WITHOUT_SPARK))
def test_an_example_without_spark_runs_by_itself(name: str) -> None:
    run(name)


@pytest.mark.spark
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WITHOUT_SPARK])
def test_an_example_runs_by_itself(name: str) -> None:
    run(name)


def test_every_example_is_listed_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()

    assert [name for name in PROGRAMS if f"`{name}`" not in readme] == []
