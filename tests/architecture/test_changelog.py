"""The fragments in `changes/` have the right form, and become a release of CHANGELOG.md."""

import datetime as dt
import re
from pathlib import Path

import pytest
from changelog import AREAS, Fragment, WrongForm, fragments, with_release

ROOT = Path(__file__).parents[2]
TEXT = "# SQL\n\nPRINT has LIMIT.\n"


def test_every_fragment_has_the_right_form() -> None:
    fragments(ROOT / "changes")


def test_the_changelog_uses_the_areas_of_fragments() -> None:
    areas = re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert set(areas) <= set(AREAS)
    assert areas[: len(AREAS)] == list(AREAS)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("New_Option.md", TEXT, "use a name such as"),
        ("a.txt", TEXT, "use a name such as"),
        ("a.md", "PRINT has LIMIT.\n", 'start with "# AREA"'),
        ("a.md", "# Fixed\n\nPRINT has LIMIT.\n", 'start with "# AREA"'),
        ("a.md", "# SQL\n", "one paragraph"),
        ("a.md", "# SQL\n\nOne.\n\nTwo.\n", "one paragraph"),
        ("a.md", "# SQL\n\n- One.\n", "one paragraph"),
        ("a.md", f"# SQL\n\n{'x' * 401}\n", "401 characters, at most 400"),
    ],
)
def test_a_fragment_of_the_wrong_form_is_refused(name: str, content: str, problem: str) -> None:
    with pytest.raises(WrongForm, match=problem):
        Fragment.parse(name, content)


def test_a_release_comes_first_with_its_areas_in_order() -> None:
    before = "# Changelog\n\nIntroduction.\n\n## 0.1.0, first release\n\n### SQL\n\n- All.\n"
    of = [Fragment("SQL", "PRINT has LIMIT. " * 10), Fragment("Broker", "It is faster.")]

    text = with_release(before, "0.2.0", dt.date(2027, 1, 31), of)

    assert text.startswith(
        "# Changelog\n\nIntroduction.\n\n## 0.2.0, 2027-01-31\n\n### Broker\n\n- It is faster.\n\n"
        "### SQL\n\n- PRINT has LIMIT."
    )
    assert text.endswith("\n\n## 0.1.0, first release\n\n### SQL\n\n- All.\n")
    assert max(map(len, text.splitlines())) <= 124


@pytest.mark.parametrize(
    ("version", "of", "problem"),
    [
        ("next", [Fragment("SQL", "One.")], "is not a version"),
        ("0.1.0", [Fragment("SQL", "One.")], "already has a release"),
        ("0.2.0", [], "no fragments"),
    ],
)
def test_a_release_that_cannot_be_made_is_refused(
    version: str, of: list[Fragment], problem: str
) -> None:
    with pytest.raises(WrongForm, match=problem):
        with_release("# Changelog\n\n## 0.1.0, first release\n", version, dt.date(2027, 1, 31), of)
