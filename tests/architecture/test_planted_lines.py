"""Lines that deep tests replace in the kernel's sources: each must exist, exactly once.

The deep tests that plant bugs run rarely, so a refactoring would break them without notice.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
KERNEL: Final = ROOT / "jvm/src/org/duolog/kernel"


class Planted(NamedTuple):
    """A place in the kernel where a test plants a bug."""

    module: str
    java_class: str
    lines: str


def test_planted_lines_exist_once_in_the_kernel() -> None:
    planted = [plant for module in _modules() for plant in _planted(module)]

    assert len(planted) > 50, "plants were not found"
    misfits = [
        f"{plant.module}: {plant.java_class} has no such lines: {plant.lines}"
        for plant in planted
        if [path.read_text().count(plant.lines) for path in _sources(plant.java_class)] != [1]
    ]
    assert not misfits


def _modules() -> list[str]:
    """Return the test modules that plant bugs in the kernel."""
    texts = {
        path: path.read_text()
        for folder in ("conformance", "fault")
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    }
    return [
        ".".join(path.relative_to(ROOT / "tests").with_suffix("").parts)
        for path, text in texts.items()
        if re.search(r"planted_(driver|kernel)\(", text)
    ]


def _planted(module: str) -> list[Planted]:
    """Return the plants in the tables of a module."""
    tables = [table for table in vars(import_module(module)).values() if _is_table(table)]
    rows = [row for table in tables for row in table if hasattr(row, "java_class")]
    return [
        Planted(module, row.java_class, getattr(row, "lines", None) or row.line) for row in rows
    ]


def _is_table(value: object) -> bool:
    return isinstance(value, list | tuple)


def _sources(java_class: str) -> list[Path]:
    return list(KERNEL.rglob(f"{java_class}.java"))
