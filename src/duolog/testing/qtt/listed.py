"""The list of cases that do not pass, in a page: runs are compared with it, and update it.

    <!-- cases: python -m duolog.testing.qtt FILE.jsonl … --page PAGE -->
    | category | cases | pass |
    ### joins: foreign-key
    | case | | reason |
    | `fk-join.json - left, then right` | fail | OUTPUT record 3: value |
    <!-- end of cases -->

The page's own text surrounds the two comments. A run of some of the cases only changes their rows,
so the page is the same whether all cases ran in one process or in several.

A reason in the list is the first line of the full reason, without values: the page does not repeat
the cases.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.runner import Outcome

BEGIN: Final = "<!-- cases: python -m duolog.testing.qtt FILE.jsonl … --page PAGE -->"
END: Final = "<!-- end of cases -->"

_ROW: Final = re.compile(r"\| `` (?P<title>.+?) `` \| (?P<status>\w+) \| (?P<reason>.*) \|")
_VALUES: Final = re.compile(
    r"( is | are |: )?[\[{(].*|( is | are |: (?=['\d]|None|True|False))[^:]*, expected .*",
    re.DOTALL,
)
_OTHER_ERROR: Final = re.compile(r"expected the error .*, got (?P<got>['\"].*)", re.DOTALL)
_NO_ERROR: Final = re.compile(r"expected the error .*, and there was none", re.DOTALL)
_LENGTH_MAX: Final = 140


@dataclass(frozen=True, slots=True)
class Listed:
    """A case that does not pass."""

    title: str
    status: str
    reason: str


def read_listed(page: Path) -> dict[str, Listed]:
    """Return the cases that a page lists, by title."""
    _, block, _ = _parts(page)
    found = (_ROW.fullmatch(line) for line in block.splitlines())
    rows = (Listed(*match.group("title", "status", "reason")) for match in found if match)
    return {row.title: row for row in rows}


def write_listed(page: Path, cases: Iterable[Case], outcomes: Iterable[Outcome]) -> None:
    """Write the outcomes of cases into a page.

    Args:
        page: contains the two comments; the text between them is replaced.
        cases: all existing cases; others are removed from the page.
        outcomes: of the cases that ran. The others keep their rows.
    """
    categories = {case.title: case.category for case in cases}
    listed = {title: row for title, row in read_listed(page).items() if title in categories}
    for outcome in outcomes:
        title = outcome.case.title
        listed.pop(title, None)
        if outcome.status != "pass":
            listed[title] = Listed(title, outcome.status, brief(outcome.reason))
    before, _, behind = _parts(page)
    page.write_text(f"{before}{BEGIN}\n\n{_block(categories, listed)}\n\n{END}{behind}")


def brief(reason: str) -> str:
    """Return the reason of a case for the page: one line, without values.

    Example:
        >>> brief("OUTPUT record 0: value is {'A': 1}, expected {'A': 2}")
        'OUTPUT record 0: value'
        >>> brief("expected the error 'no', got 'yes'")
        "says 'yes'"
    """
    if _NO_ERROR.fullmatch(reason):
        return "raises no error"
    if other := _OTHER_ERROR.fullmatch(reason):
        told = "says " + other["got"].split("\\n")[0]
    else:
        told = _VALUES.sub("", reason.splitlines()[0] if reason else "")
    told = " ".join(told.split()).replace("|", "\\|")
    return told if len(told) <= _LENGTH_MAX else told[: _LENGTH_MAX - 1] + "…"


def _parts(page: Path) -> tuple[str, str, str]:
    before, begun, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    block, ended, behind = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"{page} has no place for cases: {BEGIN} … {END}")
    return before, block, behind


def _block(categories: Mapping[str, str], listed: Mapping[str, Listed]) -> str:
    total = Counter(categories.values())
    missing = Counter(categories[title] for title in listed)
    sums = [f"| {name} | {total[name]} | {total[name] - missing[name]} |" for name in sorted(total)]
    sums.append(f"| all | {total.total()} | {total.total() - missing.total()} |")
    parts = ["\n".join(("| category | cases | pass |", "|---|---|---|", *sums))]
    for name in sorted(missing):
        rows = sorted((row for row in listed.values() if categories[row.title] == name), key=_order)
        lines = [f"| `` {row.title} `` | {row.status} | {row.reason} |" for row in rows]
        parts.append(f"### {name}")
        parts.append("\n".join(("| case | | reason |", "|---|---|---|", *lines)))
    return "\n\n".join(parts)


def _order(row: Listed) -> str:
    return row.title
