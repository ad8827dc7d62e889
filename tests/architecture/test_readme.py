"""The README's program runs, and prints what the README says that it prints."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text()
LINES_MAX: Final = 20


def _block(language: str) -> str:
    """Return the only fenced block of `language`."""
    (text,) = _blocks(language)
    return text


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(_block("python"))
    return file


@pytest.mark.spark
def test_the_readme_program_prints_the_documented_output(
    spark: SparkSession, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On the JVM of the test run; `--deep` starts one for it."""
    assert spark is not None, "the engine finds the session of this run"

    runpy.run_path(str(program), run_name="__main__")

    printed = capfd.readouterr()
    assert printed.out == _block("text")
    # The JVM is that of the test run, and may speak of other tests; librdkafka speaks of this
    # program.
    assert re.findall(r"^%\d\|.*", printed.err, re.MULTILINE) == []


@pytest.mark.deep
def test_the_program_of_the_readme_runs_by_itself(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert (done.stdout, done.stderr) == (_block("text"), "")
    assert done.returncode == 0


def test_the_readme_program_has_twenty_lines_without_imports() -> None:
    lines = [
        line
        for line in _block("python").splitlines()
        if line and not line.startswith(("from ", "import "))
    ]

    assert len(lines) <= LINES_MAX


def test_a_duolog_and_a_python_are_three_lines_away() -> None:
    (lines,) = (block for block in _blocks("bash") if "scripts/install" in block)

    done = subprocess.run(
        ["bash", "-ec", lines],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert len(lines.splitlines()) == 3
    assert done.returncode == 0, done.stderr
    assert "Usage: duolog" in done.stdout


def test_the_readmes_two_commands_are_scripts_of_the_project() -> None:
    commands = re.findall(r"^(scripts/\w+)", README, re.MULTILINE)

    assert {"scripts/demo", "scripts/test"} <= set(commands)
    assert [command for command in commands if not (ROOT / command).is_file()] == []
