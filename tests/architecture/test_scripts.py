"""The README's two commands say what is missing on a machine without a JDK or the right Python."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ("bash", "env", "dirname", "cat", "find", "sort", "awk", "sed", "rm", "grep")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The scripts in a folder of their own, with nothing prepared."""
    shutil.copytree(ROOT / "scripts", tmp_path / "clone/scripts")
    return tmp_path / "clone"


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with the tools of every machine, and neither Python nor Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(clone: Path, script: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    return subprocess.run(
        [str(clone / "scripts" / script)],
        env={**environment, "PATH": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("script", ["demo", "test"])
def test_without_a_jdk_the_package_to_install_is_named_and_nothing_is_made(
    clone: Path, bare_path: Path, script: str
) -> None:
    done = _run(clone, script, bare_path)

    assert done.returncode == 1
    assert "error: Duolog needs a JDK 17 or later" in done.stderr
    assert "openjdk-17-jdk-headless" in done.stderr
    assert sorted(path.name for path in clone.iterdir()) == ["scripts"]


def test_a_jdk_that_is_too_old_is_refused_with_its_version(clone: Path, bare_path: Path) -> None:
    _program(bare_path / "javac", 'echo "javac 11.0.22"')

    done = _run(clone, "demo", bare_path)

    assert done.returncode == 1
    assert "found javac 11.0.22" in done.stderr


def test_without_python_3_11_the_package_to_install_is_named_and_nothing_is_made(
    clone: Path, bare_path: Path
) -> None:
    _program(bare_path / "javac", 'echo "javac 17.0.15"')
    # It refuses the question `is this 3.11 or later?`, as an old Python does.
    _program(bare_path / "python3", '[ "$1" = --version ] && echo "Python 3.9.2" || exit 1')

    done = _run(clone, "demo", bare_path)

    assert done.returncode == 1
    assert "error: Duolog needs Python 3.11 or later" in done.stderr
    assert "python3.11-venv" in done.stderr
    assert sorted(path.name for path in clone.iterdir()) == ["scripts"]
