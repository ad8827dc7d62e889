"""`scripts/test --deep --part 1/2` runs that part, resumes where it was interrupted, and records that it passed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from deep_parts import MINUTES_MAX, Group, Parts, PartsError, Pass

ROOT: Final = Path(__file__).parents[2]
PASS: Final = Pass(at="2026-01-02 03:04", commit="0123456789", minutes=41, tests=2)
GROUPS: Final = {
    "tests/test_a.py": Group(part=1, seconds=100),
    "tests/test_b.py": Group(part=2, seconds=50),
    "tests/test_b.py::test_long": Group(part=1, seconds=10),
    "tests/test_b.py::test_each[2]": Group(part=1, seconds=10),
}
PARTS: Final = Parts(2, GROUPS, {})


@pytest.mark.parametrize(
    ("nodeid", "part"),
    [
        ("tests/test_a.py::test_x", 1),
        ("tests/test_b.py::test_x", 2),
        ("tests/test_b.py::test_long", 1),
        ("tests/test_b.py::test_long[1]", 1),
        ("tests/test_b.py::test_longer", 2),
        ("tests/test_b.py::test_each[1]", 2),
        ("tests/test_b.py::test_each[2]", 1),
    ],
)
def test_a_test_belongs_to_the_longest_group_that_holds_it(nodeid: str, part: int) -> None:
    assert PARTS.parts_of([nodeid]) == {nodeid: part}


def test_a_new_file_goes_to_the_shortest_part_and_moves_no_other() -> None:
    listed = ["tests/test_a.py::test_x", "tests/test_b.py::test_x"]
    added = [f"tests/test_new{number}.py::test_x" for number in range(3)]

    part_of = PARTS.parts_of([*added, *listed])

    assert {nodeid: part_of[nodeid] for nodeid in listed} == PARTS.parts_of(listed)
    assert [part_of[nodeid] for nodeid in added] == [2, 2, 1]  # 50, 110, then 120 seconds


def test_measurements_of_a_pass_are_saved_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "parts.json"
    seconds_of = {
        "tests/test_b.py::test_x": 1.4,
        "tests/test_new.py::test_x": 7,
        "tests/test_new.py::test_y": 8,
    }

    PARTS.after(2, PASS, seconds_of).write(file)

    kept = Parts.read(file)
    assert kept.passed == {"2": PASS}
    assert kept.groups == {
        **GROUPS,
        "tests/test_b.py": Group(part=2, seconds=1),
        "tests/test_new.py": Group(part=2, seconds=15),
    }


def test_the_table_says_when_each_part_last_passed() -> None:
    lines = Parts(2, GROUPS, {"2": PASS}).table().splitlines()

    assert re.split(r"\s{2,}", lines[1].strip()) == ["1/2", "never", "3"]
    assert re.split(r"\s{2,}", lines[2].strip()) == [
        "2/2",
        "2",
        "41",
        "2026-01-02 03:04",
        "0123456789",
        "1",
    ]


@pytest.mark.parametrize("name", ["0/2", "3/2", "1/3", "1", "x/2", ""])
def test_a_part_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(PartsError, match="use 1/2 to 2/2"):
        PARTS.part_named(name)


def test_no_part_of_the_suite_takes_longer_than_an_hour() -> None:
    parts = Parts.read()

    assert {group["part"] for group in parts.groups.values()} == set(range(1, parts.count + 1))
    assert all(passed["minutes"] <= MINUTES_MAX for passed in parts.passed.values())
    assert not [name for name in parts.groups if not (ROOT / name.partition("::")[0]).exists()]


def test_the_script_prints_the_table() -> None:
    done = subprocess.run(
        [str(ROOT / "scripts/test"), "--deep", "--parts"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )

    assert done.stdout.strip() == Parts.read().table()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--deep", "--part", "9/4"), 'no part "9/4" of the deep tests'),
        (("--part", "1/8"), "give --deep, too"),
    ],
)
def test_the_script_refuses_a_part_that_cannot_run(arguments: tuple[str, ...], words: str) -> None:
    done = subprocess.run(
        [str(ROOT / "scripts/test"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode != 0
    assert words in done.stdout + done.stderr


CONFTEST: Final = """
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "scripts/lib")]
import deep_run

def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true")
    deep_run.add_options(parser)

def pytest_configure(config):
    config.addinivalue_line("markers", "deep: a long form")
    deep_run.register(config)
"""

TESTS: Final = """
from pathlib import Path
import pytest

def ran(name):
    with Path("ran").open("a") as file:
        file.write(name + "\\n")
    assert not Path(f"fail {name}").exists()
    if Path(f"skip {name}").exists():
        pytest.skip("as the file says")

@pytest.mark.deep
@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_deep(letter):
    ran(letter)

def test_quick():
    ran("quick")
"""


class Clone:
    """A project of its own with two deep files, one in each part."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("tests/deep_run.py", "scripts/lib/deep_parts.py"):
            (root / name).parent.mkdir(parents=True)
            shutil.copy(ROOT / name, root / name)
        (root / "tests/conftest.py").write_text(CONFTEST)
        (root / "tests/test_one.py").write_text(TESTS)
        (root / "tests/test_two.py").write_text(
            "import pytest\n@pytest.mark.deep\ndef test_two(): pass\n"
        )
        (root / "pytest.ini").write_text("[pytest]\n")
        (root / ".gitignore").write_text("ran\nfail *\nskip *\n__pycache__/\n.pytest_cache/\n")
        groups = {
            "tests/test_one.py": Group(part=1, seconds=9),
            "tests/test_two.py": Group(part=2, seconds=9),
        }
        Parts(2, groups, {}).write(root / "tests/deep_parts.json")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *author, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.root / "ran").unlink(missing_ok=True)
        plugins = ("-p", "no:randomly", "-p", "no:cacheprovider")
        return subprocess.run(
            [sys.executable, "-m", "pytest", *plugins, "--deep", "--part", "1/2", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def ran(self) -> list[str]:
        file = self.root / "ran"
        return sorted(file.read_text().split()) if file.exists() else []

    @property
    def passed(self) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads((self.root / "tests/deep_parts.json").read_text())[
            "passed"
        ]
        return kept


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "two workers"])
def test_a_part_runs_its_deep_tests_only_and_notes_the_commit(
    clone: Clone, workers: tuple[str, ...]
) -> None:
    done = clone.run(*workers)

    assert done.returncode == 0, done.stdout
    assert clone.ran == ["a", "b", "c"]
    assert list(clone.passed) == ["1"]
    assert clone.passed["1"]["tests"] == 3


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "two workers"])
def test_a_part_continues_with_tests_that_have_not_passed(
    clone: Clone, workers: tuple[str, ...]
) -> None:
    (clone.root / "fail b").touch()
    failed = clone.run(*workers)
    (clone.root / "fail b").unlink()

    done = clone.run(*workers)

    assert failed.returncode == 1
    assert "1 of 3 tests have not passed yet" in failed.stdout
    assert done.returncode == 0, done.stdout
    assert clone.ran == ["b"]
    assert clone.passed["1"]["tests"] == 3


def test_a_part_that_has_passed_runs_again_only_from_the_start(clone: Clone) -> None:
    clone.run()

    done = clone.run("-n2")
    again = clone.ran
    clone.run("--from-start")

    assert done.returncode == 0, done.stdout
    assert again == []
    assert clone.ran == ["a", "b", "c"]


def test_at_another_commit_all_tests_run_again(clone: Clone) -> None:
    clone.run()
    clone.commit()

    clone.run()

    assert clone.ran == ["a", "b", "c"]


def test_part_of_a_part_notes_nothing(clone: Clone) -> None:
    done = clone.run("--deselect", "tests/test_one.py::test_deep[c]")

    assert "1 of 3 tests have not passed yet" in done.stdout
    assert clone.passed == {}


def test_a_skipped_test_has_not_passed(clone: Clone) -> None:
    (clone.root / "skip b").touch()

    done = clone.run()

    assert "1 of 3 tests have not passed yet" in done.stdout
    assert clone.passed == {}


def test_a_tree_with_changes_records_nothing_and_starts_over(clone: Clone) -> None:
    (clone.root / "tests/new.py").touch()
    first = clone.run()

    clone.run()

    assert first.returncode == 0
    assert "the tree has changes, so the table is not written" in first.stdout
    assert clone.ran == ["a", "b", "c"]
    assert clone.passed == {}
