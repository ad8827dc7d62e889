"""Run the guides verbatim: every command, every program, every line of output.

`broker.md` has a separate test, because it contains commands of Kafka's tools.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conformance.reader import ROOT, Reader, blocks_of
from conformance.test_data_directory_page import undescribed

GUIDE: Final = ROOT / "docs/guide"
BROKER: Final = "broker.md"
FROM_ZERO: Final = GUIDE / "from-zero.md"
PAGES: Final = sorted(page.name for page in GUIDE.glob("*.md") if page.name != BROKER)
LONG: Final = (
    "beyond-ksqldb.md",
    "checkpoints.md",
    "from-pandas.md",
    "monitoring.md",
    "sql-functions.md",
)
"""Pages that start Spark several times, and that a newcomer reads later."""
JVMS_MAX: Final = 2
LINES_MAX: Final = 15


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    someone = Reader(tmp_path / "home")
    yield someone
    someone.kill()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in LONG)) for name in PAGES]
)
def test_page_runs_as_written(reader: Reader, name: str) -> None:
    reader.follow(GUIDE / name)

    assert reader.jvms_started() <= JVMS_MAX
    if name == FROM_ZERO.name:
        assert undescribed(reader.home / "data", "Topology files") == []


def test_every_block_of_a_page_is_of_a_tested_kind() -> None:
    known = {"bash", "console", "python", "sql", "text"}
    found = {block.language for page in GUIDE.glob("*.md") for block in blocks_of(page)}
    fences = [
        line
        for page in GUIDE.glob("*.md")
        for line in re.findall(r"^ *(?:```|~~~).*$", page.read_text(), re.MULTILINE)
    ]

    assert found == known
    assert {line for line in fences if line != "```"} == {f"```{kind}" for kind in known}


def test_every_console_block_starts_with_a_command() -> None:
    without = [
        f"{page.name}: {block.text}"
        for page in GUIDE.glob("*.md")
        for block in blocks_of(page)
        if block.language == "console" and not block.text.startswith("$ ")
    ]

    assert without == []


def test_the_five_introductory_programs_are_short() -> None:
    programs = {block.file: block.text for block in blocks_of(FROM_ZERO) if block.file}

    for name in ("words.py", "orders.py", "fraud.py", "mean.py", "clicks.py"):
        lines = [line for line in programs[name].splitlines()[1:] if line.strip()]
        assert len(lines) <= LINES_MAX, name


def test_page_with_wrong_output_fails(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\none\n$ echo two; echo three\n…\nthree\n```\n")
    wrong = tmp_path / "wrong.md"
    wrong.write_text("```console\n$ echo one\ntwo\n```\n")
    failing = tmp_path / "failing.md"
    failing.write_text("```bash\nfalse\n```\n")

    reader.follow(page)
    for bad in (wrong, failing):
        with pytest.raises(AssertionError):
            reader.follow(bad)
