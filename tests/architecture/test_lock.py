"""What is installed is what was pinned: every dependency, by hash, from no named place."""

import re
import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = (ROOT / "requirements.lock").read_text()
PINS: Final = re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", LOCK, re.MULTILINE)


def test_the_lock_names_no_url() -> None:
    assert "://" not in LOCK


def test_every_pin_has_hashes() -> None:
    blocks = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]

    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_every_dependency_of_the_project_is_pinned_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        Requirement(text)
        for text in (
            *project["project"]["dependencies"],
            *(line for group in project["dependency-groups"].values() for line in group),
        )
    ]

    astray = [
        str(requirement)
        for requirement in wanted
        if not any(
            name == canonicalize_name(requirement.name) and requirement.specifier.contains(version)
            for name, version in PINS
        )
    ]

    assert astray == [], "run scripts/lock"


def test_everything_that_pyproject_builds_with_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {name for name, _ in PINS}

    assert {Requirement(text).name for text in project["build-system"]["requires"]} <= names
