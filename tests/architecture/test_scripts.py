"""The README's two commands say what is missing on a machine without a JDK or the right Python."""

import os
import re
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


@pytest.fixture
def installed_clone(clone: Path, bare_path: Path) -> Path:
    """A clone in which a build creates the files of version 2 and nothing else."""
    for tool in ("ls", "mkdir", "touch"):
        found = shutil.which(tool)
        assert found is not None
        (bare_path / tool).symlink_to(found)
    _program(clone / "scripts/install", "exit 0")
    (clone / ".venv/bin").mkdir(parents=True)
    _program(
        clone / ".venv/bin/python",
        """
        case "$*" in
          *hatchling*)
            for last do :; done
            case $PWD in */build/whole) name=duolog ;; *) name=duolog_broker ;; esac
            touch "$last/$name-2-py3-none-any.whl" "$last/$name-2.tar.gz" ;;
          *) mkdir -p build/whole ;;
        esac""",
    )
    return clone


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(clone: Path, script: str, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    return subprocess.run(
        [str(clone / "scripts" / script), *arguments],
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


def test_no_text_installs_duolog_from_an_index_that_does_not_have_it() -> None:
    """Until the first release, another person's package could have the name."""
    parts = ("README.md", "CONTRIBUTING.md", "docs/guide", "deploy", "src", "scripts", "changes")
    files = [
        path
        for part in parts
        for path in ((ROOT / part).rglob("*") if (ROOT / part).is_dir() else [ROOT / part])
        if path.suffix in {"", ".md", ".py", ".service", ".template", ".yaml"} and path.is_file()
    ]
    installs = re.compile(r"pip install[^`]*?(?<![/\w])duolog")

    wrong = [
        str(path.relative_to(ROOT))
        for path in files
        for line in path.read_text().splitlines()
        if installs.search(line)
    ]

    assert wrong == []


BUILT: Final = [
    "duolog-2-py3-none-any.whl",
    "duolog-2.tar.gz",
    "duolog_broker-2-py3-none-any.whl",
    "duolog_broker-2.tar.gz",
]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_build_deletes_nothing_from_a_directory_that_is_given(
    installed_clone: Path, bare_path: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("duolog.md", "duolog-1-py3-none-any.whl", "duolog-notes.tar.gz"):
        (mine / name).touch()

    done = _run(installed_clone, "build", bare_path, str(mine))

    assert done.returncode == 0, done.stderr
    assert _names(mine) == sorted(
        [*BUILT, "duolog.md", "duolog-1-py3-none-any.whl", "duolog-notes.tar.gz"]
    )


def test_a_build_deletes_the_wheels_of_earlier_versions_from_dist(
    installed_clone: Path, bare_path: Path
) -> None:
    dist = installed_clone / "dist"
    dist.mkdir()
    for name in ("duolog-1-py3-none-any.whl", "duolog_broker-1.tar.gz", "duolog.md"):
        (dist / name).touch()

    done = _run(installed_clone, "build", bare_path)

    assert done.returncode == 0, done.stderr
    assert _names(dist) == sorted([*BUILT, "duolog.md"])
