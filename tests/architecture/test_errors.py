"""Each edge turns errors into its own replies in one function; no class is forgotten there."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import duolog
from duolog.broker.errors import kafka_code
from duolog.cli.errors import STATUS_OF_ERROR, exit_status
from duolog.core.errors import DuologError

# Python's own module names end the search: `__main__` would start the command line.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(duolog.__path__, "duolog.")
    if module.name.endswith("errors")
]


def test_errors_of_a_package_are_in_its_errors_module() -> None:
    """Errors of other modules are only known once these are imported: two had no exit status."""
    root = Path(duolog.__path__[0])

    strays = [
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if file.stem != "errors"
        and re.search(r"^class \w+\(DuologError\)", file.read_text(), re.MULTILINE)
    ]

    assert strays == []


def test_every_branch_of_the_tree_has_an_exit_status_of_its_own() -> None:
    for name in MODULES:
        importlib.import_module(name)
    branches = DuologError.__subclasses__()

    unmapped = [branch.__name__ for branch in branches if branch not in STATUS_OF_ERROR]

    assert unmapped == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_errors_of_a_package_are_operating_errors_and_reach_both_edges(name: str) -> None:
    for kind in vars(importlib.import_module(name)).values():
        if not (isinstance(kind, type) and issubclass(kind, DuologError)) or kind is DuologError:
            continue
        error = _instance(kind)

        assert kind.__doc__, f"{kind.__name__} says nothing about itself"
        assert exit_status(error) in range(1, 7)
        assert isinstance(kafka_code(error)[0], int)


def test_the_drawing_of_the_tree_shows_every_branch() -> None:
    drawing = importlib.import_module("duolog.core.errors").__doc__ or ""

    drawn = set(re.findall(r"[├└]─ (\w+)", drawing))

    core = {
        c.__name__ for c in DuologError.__subclasses__() if c.__module__ == "duolog.core.errors"
    }
    assert drawn == core


def _instance(kind: type[DuologError]) -> DuologError:
    """An instance without its constructor: the edges look at the class and at `code`."""
    error = kind.__new__(kind)
    error.message, error.detail, error.hint = "a message", "", ""
    error.__dict__.setdefault("code", 1)
    return error
