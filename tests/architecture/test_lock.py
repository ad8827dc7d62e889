"""The lock file pins every dependency by hash, without URLs."""

import re
import tomllib
from importlib.metadata import requires
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
        for lines in (
            project["project"]["dependencies"],
            *project["project"]["optional-dependencies"].values(),
            *project["dependency-groups"].values(),
        )
        for text in lines
    ]

    outdated = [
        str(requirement)
        for requirement in wanted
        if not any(
            name == canonicalize_name(requirement.name) and requirement.specifier.contains(version)
            for name, version in PINS
        )
    ]

    assert outdated == [], "run scripts/lock"


def test_everything_that_pyproject_builds_with_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = {name for name, _ in PINS}

    assert {Requirement(text).name for text in project["build-system"]["requires"]} <= names


def test_build_requirements_of_scripts_install_are_complete() -> None:
    """It is installed first, while the rest is still on its way."""
    script = (ROOT / "scripts/install").read_text()
    (names,) = re.findall(r'^readonly BUILD_TOOLS="(.*)"$', script, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    tools = {Requirement(text).name for text in project["dependency-groups"]["build"]}
    for name in list(names.split()):
        tools |= _needs(name)

    assert tools <= set(names.split())


def _needs(name: str) -> set[str]:
    wanted = map(Requirement, requires(name) or ())
    return {
        canonicalize_name(requirement.name)
        for requirement in wanted
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
