"""Documents that point somewhere point at what is there."""

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ADR: Final = ROOT / "docs/adr"
PICTURE_BYTES_MAX: Final = 250_000
SECTIONS: Final = (
    "Problem",
    "Success criteria",
    "Out of scope",
    "Decision",
    "Alternatives",
    "Consequences",
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_into_a_page_leads_to_a_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*\.md)?#([^)]+)\)", page.read_text())

    assert [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in _anchors(page.parent / target if target else page)
    ] == []


def _anchors(page: Path) -> list[str]:
    """Return what the headings of a page are called in links, as GitHub calls them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    """Backquoted paths below a top folder of the project, `docs/reference/` say."""
    paths = re.findall(
        r"`((?:src|tests|docs|scripts|bench|examples|jvm|\.ci)/[\w./-]*)`", page.read_text()
    )

    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_index_lists_every_decision_under_its_number() -> None:
    listed = re.findall(
        r"^\| \[(\d{4})\]\((\1-[a-z0-9-]+\.md)\)", (ADR / "README.md").read_text(), re.MULTILINE
    )

    assert [name for _, name in listed] == sorted(path.name for path in ADR.glob("0*.md"))


@pytest.mark.parametrize("page", sorted(ADR.glob("0*.md")), ids=lambda page: page.stem)
def test_a_decision_has_its_six_parts_in_order(page: Path) -> None:
    found = re.findall(r"^\*\*(.+?)\.\*\*|^## (.+)$", page.read_text(), re.MULTILINE)

    parts = [bold or heading for bold, heading in found]

    assert [part for part in parts if part in SECTIONS] == list(SECTIONS)


def test_the_site_has_all_pages() -> None:
    index = (ROOT / "docs/index.md").read_text()
    listed = {
        entry
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.MULTILINE | re.DOTALL)
        for entry in tree.split()
        if not entry.startswith(":") and "*" not in entry
    }
    pages = {
        str(page.relative_to(ROOT / "docs").with_suffix(""))
        for page in (ROOT / "docs").rglob("*.md")
        if not page.name.startswith("0")
    }

    assert {entry for entry in listed if "/" in entry or entry in pages} == pages - {"index"}


def test_the_picture_of_the_demo_is_a_small_svg() -> None:
    picture = ROOT / "docs/pictures/demo.svg"

    assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    assert picture.stat().st_size < PICTURE_BYTES_MAX
