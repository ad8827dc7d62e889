"""Assemble CHANGELOG.md from the fragments in `changes/`, whose form `changes/README.md` describes.

changes/*.md ─▶ Fragment(area, text) ─▶ a release with its areas ─▶ top of CHANGELOG.md
"""

import datetime as dt
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
AREAS: Final = (
    "Broker",
    "Streams and tables in Python",
    "SQL",
    "State and reliability",
    "Clusters and operations",
    "Command line",
    "Documentation",
)
LENGTH_MAX: Final = 400
_WIDTH: Final = 124
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.md")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


class WrongForm(Exception):
    """A fragment or a version has the wrong form."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One change: its area and a paragraph of text."""

    area: str
    text: str

    @classmethod
    def parse(cls, name: str, content: str) -> Self:
        r"""Read a fragment.

        Example:
            >>> Fragment.parse("quiet.md", "# SQL\n\nPRINT has LIMIT.\n")
            Fragment(area='SQL', text='PRINT has LIMIT.')

        Raises:
            WrongForm: the name, the area or the text has the wrong form.
        """
        if not _NAME.fullmatch(name):
            raise WrongForm(f"changes/{name}: use a name such as new-option.md")
        heading, _, body = content.partition("\n")
        area = heading.removeprefix("# ")
        if not heading.startswith("# ") or area not in AREAS:
            raise WrongForm(f'changes/{name}: start with "# AREA", one of {", ".join(AREAS)}')
        paragraphs = [part for part in body.strip().split("\n\n") if part]
        if len(paragraphs) != 1 or paragraphs[0].startswith(("-", "*", "#")):
            raise WrongForm(f"changes/{name}: write one paragraph after the heading")
        text = " ".join(paragraphs[0].split())
        if len(text) > LENGTH_MAX:
            raise WrongForm(f"changes/{name}: {len(text)} characters, at most {LENGTH_MAX} allowed")
        return cls(area, text)


def fragments(folder: Path) -> list[Fragment]:
    """Return the fragments of a folder, sorted by file name; raises as `Fragment.parse`."""
    paths = sorted(path for path in folder.iterdir() if path.name != "README.md")
    return [Fragment.parse(path.name, path.read_text()) for path in paths]


def by_area(of: Sequence[Fragment]) -> str:
    """Return fragments as bullets below their areas.

    Example:
        >>> print(by_area([Fragment("SQL", "PRINT has LIMIT.")]))
        ### SQL
        <BLANKLINE>
        - PRINT has LIMIT.
    """
    parts = []
    for area in AREAS:
        if texts := [one.text for one in of if one.area == area]:
            parts += [f"### {area}", "\n".join(map(_bullet, texts))]
    return "\n\n".join(parts)


def _bullet(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def with_release(changelog: str, version: str, day: dt.date, of: Sequence[Fragment]) -> str:
    """Return the changelog with a new release before the others.

    Raises:
        WrongForm: the version is malformed or already released, or there are no fragments.
    """
    if not _VERSION.fullmatch(version):
        raise WrongForm(f'"{version}" is not a version such as 0.2.0')
    if re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        raise WrongForm(f"CHANGELOG.md already has a release {version}")
    if not of:
        raise WrongForm("changes/ has no fragments")
    head, before, rest = changelog.partition("\n## ")
    return f"{head}\n## {version}, {day.isoformat()}\n\n{by_area(of)}\n{before}{rest}"


def main(arguments: list[str]) -> int:
    folder, changelog = ROOT / "changes", ROOT / "CHANGELOG.md"
    try:
        found = fragments(folder)
        match arguments:
            case []:
                print(by_area(found) or "no changes since the last release")
            case ["--release", version]:
                text = with_release(
                    changelog.read_text(), version, dt.datetime.now(dt.UTC).date(), found
                )
                changelog.write_text(text)
                for path in folder.glob("*.md"):
                    if path.name != "README.md":
                        path.unlink()
            case _:
                print("usage: scripts/changes [--release VERSION]", file=sys.stderr)
                return 2
    except WrongForm as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
