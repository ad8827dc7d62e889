"""Plain English: phrases that STYLE.md rules out only become rarer, titles and commit subjects stay short."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import run
from typing import Final

import commit_subjects
import plain_english
import pytest
from plain_english import count, excess, grown

ROOT: Final = Path(__file__).parents[2]
TITLE_WORDS_MAX: Final = 8


def test_no_file_uses_a_phrase_more_often_than_its_limit() -> None:
    assert excess(plain_english.counts(), plain_english.allowed()) == [], (
        "rewrite these: STYLE.md, Plain English"
    )


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("# The caller is told.", "tell, told"),
        ("# It is made anew.", "anew"),
        ("# behind the commit", "behind"),
        ("# beside the broker", "beside"),
        ('raise ValueError("it is no number")', "is no"),
        ("# as nobody waits", "whoever, nobody"),
        ("# for who asks", "who asks"),
        ("# what stands in the file", "stand"),
        ("# it goes on", "go on"),
        ("# mended by a restart", "mend"),
        ("# so many bytes", "so many"),
        ('"""Return x. Of a table, the rows."""', "Of a …"),
        ("# None where it is missing", "None where"),
        ('def f():\n    """Whether it runs."""', "opener"),
        ('class A:\n    """What it does."""', "opener"),
    ],
)
def test_a_phrase_counts_in_comments_docstrings_and_messages(text: str, phrase: str) -> None:
    assert count("a.py", text) == {phrase: 1}


@pytest.mark.parametrize(
    "text",
    [
        "told = behind.anew(beside)  # names of things",
        'key = {"told": "behind"}',
        'f"{told} of {behind}"',
        '"""Return a text. There is no limit, it is no longer needed, lags behind, and NAME stands for a name."""',
        '"""Return whether it runs."""',
    ],
)
def test_names_and_standard_english_do_not_count(text: str) -> None:
    assert count("a.py", text) == {}


def test_java_and_markdown_count_without_their_code() -> None:
    assert count("A.java", 'int told; // anew\nlog("behind"); /** Whether it runs. */') == {
        "anew": 1,
        "behind": 1,
        "opener": 1,
    }
    assert count("a.md", "anew `told`\n```\nbehind\n```\n") == {"anew": 1}


def test_limits_move_between_files_and_only_shrink() -> None:
    limits = {"a.py": {"anew": 2}, "b.py": {"anew": 1}}

    assert grown({"c.py": {"anew": 3}}, limits) == []
    assert grown({"c.py": {"anew": 4}}, limits) == ['"anew": 4, 3 allowed']
    assert excess({"c.py": {"anew": 1}}, limits) == ['c.py: "anew" 1 times, 0 allowed']


def test_titles_of_decision_records_have_at_most_eight_words() -> None:
    titles = {
        path.name: path.read_text().splitlines()[0]
        for path in sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    }

    assert titles
    assert {name: title for name, title in titles.items() if _is_long(title)} == {}


def _is_long(title: str) -> bool:
    return len(re.sub(r"^#+ (?:\d+[.:]?)?", "", title).split()) > TITLE_WORDS_MAX


@pytest.fixture
def commit(tmp_path: Path) -> Callable[[str], None]:
    """Return a function that commits an empty change in a new repository on main."""
    _git(tmp_path, "init", "--quiet", "--initial-branch=main")

    def commit_subject(subject: str) -> None:
        _git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", subject)

    return commit_subject


def test_a_branch_is_checked_from_its_merge_base(
    tmp_path: Path, commit: Callable[[str], None]
) -> None:
    commit("the root")
    commit("before the branch")
    _git(tmp_path, "switch", "--quiet", "--create", "branch")
    commit("cli: first")
    commit("cli: second")

    assert _subjects(tmp_path) == ["cli: second", "cli: first"]


def test_main_is_checked_since_the_check_exists(
    tmp_path: Path, commit: Callable[[str], None]
) -> None:
    commit("the root")
    script = tmp_path / "scripts/lib/commit_subjects.py"
    script.parent.mkdir(parents=True)
    script.touch()
    _git(tmp_path, "add", ".")
    commit("scripts: check subjects")
    for number in range(12):
        commit(f"cli: change {number}")

    assert _subjects(tmp_path) == [f"cli: change {number}" for number in range(11, 1, -1)]


def test_the_root_of_a_squashed_history_or_a_shallow_clone_is_not_checked(
    tmp_path: Path, commit: Callable[[str], None]
) -> None:
    script = tmp_path / "scripts/lib/commit_subjects.py"
    script.parent.mkdir(parents=True)
    script.touch()
    _git(tmp_path, "add", ".")
    commit("All that was done")
    squashed = _subjects(tmp_path)
    commit("Boundary of the clone")
    commit("cli: more")
    clone = tmp_path / "clone"
    _git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{tmp_path}", str(clone))

    assert (squashed, _subjects(clone)) == ([], ["cli: more"])


def test_without_a_repository_nothing_is_checked(tmp_path: Path) -> None:
    assert _subjects(tmp_path) == []


def _subjects(repository: Path) -> list[str]:
    def git(*arguments: str) -> str:
        done = run(
            ["git", *arguments],
            cwd=repository,
            env=_ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    return commit_subjects.subjects(git)


_ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def _git(repository: Path, *arguments: str) -> None:
    run(["git", *arguments], cwd=repository, env=_ENVIRONMENT, check=True)
