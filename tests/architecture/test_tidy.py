"""The project speaks of itself only, and of the machine that it was written on not at all."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
THIS: Final = "tests/architecture/test_tidy.py"

# A name of this machine or of how the text came about; a promise instead of the thing.
FORBIDDEN: Final = {
    r"\.\./shared|/work/|/root/": "a path outside the project",
    r"\b(TODO|FIXME)\b": "something left undone: say it in an issue",
}


def _tracked() -> list[str]:
    try:
        listing = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []  # not a clone: the tests below are for those who commit
    return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


TRACKED: Final = _tracked()


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_no_file_holds_what_does_not_belong_to_the_project(pattern: str) -> None:
    found = [
        f"{name}:{number}"
        for name in TRACKED
        if name not in {THIS, "LICENSE", "requirements.lock"}
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1)
        if re.search(pattern, line)
    ]

    assert found == [], FORBIDDEN[pattern]


def test_every_shell_script_stops_at_the_first_failure_and_can_be_run() -> None:
    scripts = [
        name for name in TRACKED if (ROOT / name).read_bytes().startswith(b"#!/usr/bin/env bash")
    ]

    lax = [
        name
        for name in scripts
        if "set -euo pipefail" not in (ROOT / name).read_text()
        or not (ROOT / name).stat().st_mode & 0o100
    ]

    assert lax == []


def test_no_build_product_is_committed() -> None:
    products = [name for name in TRACKED if name.endswith((".jar", ".class", ".whl", ".pyc"))]

    assert products == []


def test_the_front_of_a_package_is_a_docstring_and_names() -> None:
    """`__init__.py` says what the package does and what is public; code lives in modules."""
    fronts = [name for name in TRACKED if name.startswith("src/") and name.endswith("__init__.py")]

    fat = [
        name
        for name in fronts
        if re.search(
            r"^(class |def (?!__getattr__|__dir__))", (ROOT / name).read_text(), re.MULTILINE
        )
    ]

    assert fat == []
