"""Run one part of the deep tests (`scripts/test --deep --part 3/8`), and note in the table that it passed.

    only tests marked deep run, of them those of the part (`scripts/lib/deep_parts.py`)
    a part that was cut continues   tests that have passed at this commit do not run again; --from-start runs all
    the part has passed             when each of its tests has, at one commit, in however many runs
    a tree with changes             runs all of the part, and notes nothing

`.pytest_cache/deep/COMMIT/PART.jsonl` lists the tests that have passed, one per line, written as
soon as a test passes.
"""

import datetime as dt
import json
import subprocess
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from deep_parts import FILE, Parts, PartsError, Pass

_ROOT: Final = Path(__file__).parents[1]
_WORKER_TESTS: Final = "tests_of_part"


def add_options(parser: pytest.Parser) -> None:
    """Add --part and --from-start."""
    parser.addoption(
        "--part", metavar="N/PARTS", help="with --deep: run one part of the deep tests"
    )
    parser.addoption(
        "--from-start",
        action="store_true",
        help="with --part: run the tests that have passed at this commit, too",
    )


def register(config: pytest.Config) -> None:
    """Register the plugin if a part is to run."""
    name = config.getoption("--part")
    if name is None:
        return
    if not config.getoption("--deep"):
        raise pytest.UsageError("--part is for deep tests: give --deep, too")
    parts = Parts.read()
    try:
        part = parts.part_named(name)
    except PartsError as error:
        raise pytest.UsageError(str(error)) from None
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(_Selection(parts, part, config.workerinput["passed"]))
        return
    note = Note(part, _clean_commit(_ROOT))
    if config.getoption("--from-start"):
        note.clear()
    selection = _Selection(parts, part, sorted(note.seconds_of))
    config.pluginmanager.register(selection)
    config.pluginmanager.register(_Run(parts, part, note, selection))


class Note:
    """The tests of a part that have passed at a commit; of no commit, nothing is kept."""

    def __init__(self, part: int, commit: str | None, root: Path = _ROOT) -> None:
        self.commit = commit
        self._file = root / ".pytest_cache/deep" / str(commit) / f"{part}.jsonl"
        self.seconds_of: dict[str, float] = {}
        self.seconds = 0.0
        if commit is not None and self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))

    def _take(self, entry: dict[str, Any]) -> None:
        if "test" in entry:
            self.seconds_of[entry["test"]] = entry["seconds"]
        else:
            self.seconds += entry["run_seconds"]

    def add(self, entry: dict[str, Any]) -> None:
        """Keep that a test has passed, or how long a run has taken."""
        self._take(entry)
        if self.commit is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def clear(self) -> None:
        """Forget all."""
        self._file.unlink(missing_ok=True)
        self.seconds_of.clear()
        self.seconds = 0


class _Selection:
    """Deselects all tests but those of the part that have not passed yet."""

    def __init__(self, parts: Parts, part: int, passed: Sequence[str]) -> None:
        self._parts = parts
        self._part = part
        self.passed = passed
        self.tests: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        deep = [item.nodeid for item in items if "deep" in item.keywords]
        part_of = self._parts.parts_of(deep)
        self.tests = [nodeid for nodeid, part in part_of.items() if part == self._part]
        chosen = set(self.tests) - set(self.passed)
        gone = [item for item in items if item.nodeid not in chosen]
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item.nodeid in chosen]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_WORKER_TESTS] = self.tests


class _Run:
    """Keeps what passes; notes in the table that the part did."""

    def __init__(self, parts: Parts, part: int, note: Note, selection: _Selection) -> None:
        self._parts = parts
        self._part = part
        self._note = note
        self._selection = selection
        self._tests: set[str] = set()
        self._seconds_of: dict[str, float] = {}
        self._unfit: set[str] = set()
        self._started = time.monotonic()
        self._session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        # Also a worker that replaces a crashed one has to collect what the others did.
        node.workerinput["passed"] = self._selection.passed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._tests |= set(getattr(node, "workeroutput", {}).get(_WORKER_TESTS, ()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = self._seconds_of.get(report.nodeid, 0) + report.duration
        self._seconds_of[report.nodeid] = seconds
        if report.failed or (report.skipped and not hasattr(report, "wasxfail")):
            self._unfit.add(report.nodeid)
        if report.when == "teardown" and report.nodeid not in self._unfit:
            self._note.add({"test": report.nodeid, "seconds": round(seconds, 1)})

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        yield
        terminalreporter.write_line(self._end(terminalreporter))

    def _end(self, reporter: pytest.TerminalReporter) -> str:
        """Record the results; return the message to print."""
        for report in reporter.stats.get("flaky", ()):
            seconds = round(self._seconds_of[report.nodeid], 1)
            self._note.add({"test": report.nodeid, "seconds": seconds})
        self._note.add({"run_seconds": round(time.monotonic() - self._started)})
        tests = self._tests | set(self._selection.tests)
        missing = tests - set(self._note.seconds_of)
        name = f"part {self._part}/{self._parts.count} of the deep tests"
        if missing or not tests:
            return f"{name}: {len(missing)} of {len(tests)} tests have not passed yet"
        if self._session is not None and self._session.exitstatus in (
            pytest.ExitCode.NO_TESTS_COLLECTED,
            pytest.ExitCode.OK,
        ):
            self._session.exitstatus = pytest.ExitCode.OK
            return self._passed(name, tests)
        return f"{name}: failed"

    def _passed(self, name: str, tests: set[str]) -> str:
        if self._note.commit is None:
            return f"{name}: passed; the tree has changes, so the table is not written"
        entry = Pass(
            at=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M"),
            commit=self._note.commit[:10],
            minutes=round(self._note.seconds / 60),
            tests=len(tests),
        )
        seconds_of = {test: self._note.seconds_of[test] for test in tests}
        # Read the file again: another part may have passed meanwhile.
        Parts.read().after(self._part, entry, seconds_of).write()
        return f"{name}: passed at {entry['commit']}; commit {FILE.relative_to(_ROOT)}"


def _clean_commit(root: Path) -> str | None:
    """Return the commit of the tree; None if the tree has changes, the table aside, or is not a clone."""
    try:
        changes = _git(root, "status", "--porcelain", "--", ".", f":!{FILE.relative_to(_ROOT)}")
        return None if changes else _git(root, "rev-parse", "HEAD").strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
    ).stdout
