"""Each claim of the page about security has tests, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/security.md"
TEXT: Final = PAGE.read_text()
NAMED: Final = re.findall(r"\[`(test_\w+)`\]\(([^)\s]+\.py)\)", TEXT)
TESTS: Final = sorted({(path, name) for name, path in NAMED})


def section(title: str) -> str:
    _, _, rest = TEXT.partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0]


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_a_named_test_exists(path: str, name: str) -> None:
    assert name in functions_in((PAGE.parent / path).resolve())


@pytest.mark.parametrize(
    ("title", "item"),
    [
        ("Hardening checklist", r"^\d+\. .*(?:\n   .*)*"),
        ("Lessons from other systems", r"^- .*(?:\n  .*)*"),
        ("What a client can cost before it has logged in", r"^- .*(?:\n  .*)*"),
    ],
)
def test_every_item_names_a_test(title: str, item: str) -> None:
    items = re.findall(item, section(title), re.MULTILINE)

    assert len(items) >= 10
    assert [text for text in items if "tests/" not in text] == []


def test_the_lessons_of_all_known_holes_are_there() -> None:
    holes = "2026-33557 2026-33558 2026-41115 27817 27818 27819 2023-25194 2024-56128 2024-27309"
    holes += " 2023-34455 2023-52251 2024-32030"
    text = section("Lessons from other systems")

    assert [hole for hole in holes.split() if hole not in text] == []
