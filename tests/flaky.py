"""Run each failed test once more by itself, and report as FLAKY those that pass then.

    fails in the run, passes by itself     FLAKY: both outputs are shown, and the run stays green
    fails twice                            failed: both outputs are shown
    more failures than the limit           failed: a broken build is not flakiness, nothing runs again
    a collection error, Ctrl-C, -x         failed: the run is incomplete

`--again LIMIT` sets the limit: 10 with CI=true, else 0, which switches this off. By itself means
after the run, one test at a time, each in a new process (`pytest NODEID`). A test whose xdist
worker crashed counts as failed, because xdist reports it so. The counts in pytest's closing line
are those after the second runs.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

LIMIT_IN_CI: Final = 10
# A test that hangs has a time limit of its own; this one is for a process that never exits.
PROCESS_TIMEOUT_S: Final = 3600
_ROOT: Final = Path(__file__).parents[1]
_PASSED: Final = re.compile(r"\b[1-9]\d* passed\b")


@dataclass(frozen=True)
class SecondRun:
    """The result of a test that ran again by itself."""

    passed: bool
    output: str


def add_option(parser: pytest.Parser, *, in_ci: bool) -> None:
    """Add `--again`."""
    parser.addoption(
        "--again",
        type=int,
        metavar="LIMIT",
        default=LIMIT_IN_CI if in_ci else 0,
        help="run up to LIMIT failed tests once more by themselves; those that pass are FLAKY",
    )


class Again:
    """The pytest plugin. Register it in the process that prints the summary, not in xdist workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._limit: int = config.getoption("--again")
        self._options = ["--deep"] if config.getoption("--deep") else []
        self._session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        first = _failed_reports(terminalreporter)
        if not (self._limit and first) or not self._complete(terminalreporter):
            return (yield)
        if len(first) > self._limit:
            terminalreporter.write_line(
                f"{len(first)} tests failed, more than {self._limit}: none of them runs again"
            )
            return (yield)
        second = {nodeid: self._run(terminalreporter, nodeid) for nodeid in first}
        passed = {nodeid: reports for nodeid, reports in first.items() if second[nodeid].passed}
        for nodeid, run in second.items():
            if nodeid not in passed:
                _show_second(terminalreporter, nodeid, run)
        self._forgive(terminalreporter, passed)
        yield
        for nodeid, reports in passed.items():
            _show_first(terminalreporter, nodeid, reports)
            _show_second(terminalreporter, nodeid, second[nodeid])
        for nodeid in passed:
            terminalreporter.write_line(
                f"FLAKY {nodeid} - failed in the run, passed by itself: see tests/flaky.md",
                yellow=True,
            )

    def _complete(self, reporter: pytest.TerminalReporter) -> bool:
        """Return whether all tests were collected and run."""
        session = self._session
        return (
            session is not None
            and session.exitstatus == pytest.ExitCode.TESTS_FAILED
            and not session.shouldfail
            and not session.shouldstop
            and all(isinstance(report, pytest.TestReport) for report in _problems(reporter))
        )

    def _run(self, reporter: pytest.TerminalReporter, nodeid: str) -> SecondRun:
        reporter.write_line(f"running again by itself: {nodeid}")
        command = [sys.executable, "-m", "pytest", "--again=0", "-rA", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *self._options, nodeid],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=PROCESS_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            output = f"the process did not exit within {PROCESS_TIMEOUT_S} s"
            return SecondRun(passed=False, output=output)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        closing = output.rstrip().rpartition("\n")[2]
        # A skipped test exits with 0, too.
        passed = process.returncode == 0 and _PASSED.search(closing) is not None
        return SecondRun(passed=passed, output=output.rstrip())

    def _forgive(
        self, reporter: pytest.TerminalReporter, flaky: dict[str, list[pytest.TestReport]]
    ) -> None:
        """Count the flaky tests as such; the run is green if no other failed."""
        for outcome in ("failed", "error", "passed"):
            if reports := reporter.stats.get(outcome):
                reports[:] = [report for report in reports if report.nodeid not in flaky]
        if flaky:
            reporter.stats["flaky"] = [reports[0] for reports in flaky.values()]
        if self._session is not None and not _problems(reporter):
            self._session.testsfailed = 0
            self._session.exitstatus = pytest.ExitCode.OK


def _problems(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    return [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]


def _failed_reports(reporter: pytest.TerminalReporter) -> dict[str, list[pytest.TestReport]]:
    found: dict[str, list[pytest.TestReport]] = {}
    for report in _problems(reporter):
        found.setdefault(report.nodeid, []).append(report)
    return found


def _show_first(
    reporter: pytest.TerminalReporter, nodeid: str, reports: list[pytest.TestReport]
) -> None:
    reporter.write_sep("_", f"first run, with others: {nodeid}")
    for report in reports:
        reporter.write_line(report.longreprtext)
        for title, text in report.sections:
            reporter.write_sep("-", title)
            reporter.write_line(text)


def _show_second(reporter: pytest.TerminalReporter, nodeid: str, run: SecondRun) -> None:
    reporter.write_sep("_", f"second run, by itself: {nodeid}")
    reporter.write_line(run.output)
