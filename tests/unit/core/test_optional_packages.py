import tomllib
from pathlib import Path

from duolog.core.optional_packages import REQUIREMENTS

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_the_packages_are_those_of_the_extras() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]

    assert set(REQUIREMENTS.values()) == {need for needs in extras.values() for need in needs}


def test_each_requirement_is_of_the_package_that_it_is_listed_under() -> None:
    for name, requirement in REQUIREMENTS.items():
        assert requirement[len(name) :].startswith((">=", "=="))
        assert requirement.startswith(name)
