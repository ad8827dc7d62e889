"""Check the subjects of commits: at most 72 characters, `area: what changes`.

    on a branch    the commits after its merge base with main
    on main        the last commits since this check exists, at most `RECENT`

Skips merges. The root of a squashed history, and the boundary of a shallow clone, appear to add
this file; they are not checked, only the commits after them.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LENGTH_MAX: Final = 72
RECENT: Final = 10
_MAIN: Final = ("main", "origin/main")
_THIS: Final = "scripts/lib/commit_subjects.py"
_SUBJECT: Final = re.compile(r"(?:[a-z0-9_.,/ -]+: \S|Revert ).*")

Git = Callable[..., str]


def problems(subjects: Iterable[str]) -> list[str]:
    """Return a line for each subject that breaks a rule.

    Example:
        >>> problems(["cli: rewrite messages", "Rewrite all", "cli: " + "x" * 70])[0]
        'no area: Rewrite all'
        >>> problems(["cli: " + "x" * 70])[0][:25]
        '75 characters, 72 allowed'
    """
    found = []
    for subject in subjects:
        if len(subject) > LENGTH_MAX:
            found.append(f"{len(subject)} characters, {LENGTH_MAX} allowed: {subject}")
        elif not _SUBJECT.fullmatch(subject):
            found.append(f"no area: {subject}")
    return found


def subjects(git: Git) -> list[str]:
    """Return the subjects of the commits to check."""
    head = git("rev-parse", "--verify", "--quiet", "HEAD")
    if not head:
        return []
    for main in _MAIN:
        base = git("merge-base", main, "HEAD")
        if base and base != head:
            return _log(git, f"{base}..HEAD")
    added = git("log", "--diff-filter=A", "--format=%H", "-1", "--", _THIS)
    return _log(git, f"{added}..HEAD", f"--max-count={RECENT}") if added else []


def _log(git: Git, *arguments: str) -> list[str]:
    return git("log", "--no-merges", "--format=%s", *arguments).splitlines()


def _git(*arguments: str) -> str:
    """Run Git in the project; return its output, empty if it fails or there is no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607 - as in every shell
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    found = problems(subjects(_git))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
