"""`duolog run --watch`, with files that change and applications that are none."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from duolog.cli.applications import following
from duolog.cli.applications.following import (
    FileRunner,
    ProgressReporter,
    StartOptions,
    Watcher,
    load_until_valid,
)
from duolog.cli.applications.topology_file import TopologyFile
from duolog.core.errors import ConfigError, DuologError, QueryError
from duolog.dsl.topology import Topology
from duolog.engine.errors import TopologyChanged
from duolog.engine.lowering.lower import lower
from duolog.engine.query.reports.progress import Progress, Skipped
from duolog.plan.cutting.levels import find_levels
from duolog.runtime.broker_watch import BrokerWatch, ProbeResult
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.applications.fresh_start import FreshStart
    from duolog.engine.query.query import RunningQuery
    from duolog.runtime.application import Application

TEXT = """
from duolog import Topology

topology = Topology("{name}")
topology.stream("source", value="v STRING").to("copy")
"""


class Done(BaseException):
    """Ends a run as Ctrl-C does."""


@dataclass
class FakeApplication:
    """Writes down what is done with it, and counts those with a JVM."""

    application_id: str
    log: list[str]
    fails: list[DuologError]
    wait: Callable[[float], bool]
    query: "FakeApplication" = field(init=False)
    brokers: Brokers = field(default_factory=lambda: Brokers("127.0.0.1:1"))

    def create_source_topics(self) -> list[str]:
        return ["source"]

    def check(self) -> None:
        if self.fails:
            raise self.fails.pop()

    def reserve(self) -> None:
        pass

    def open(self) -> None:
        pass

    def start(self) -> "FakeApplication":
        self.log.append(f"start {self.application_id}")
        return self

    def stop(self) -> None:
        self.log.append(f"stop {self.application_id}")

    def close(self) -> None:
        self.log.append(f"close {self.application_id}")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(following, "end_in_order_on_signals", lambda: None)


class Editor:
    """Writes the next text whenever the runner waits for it."""

    def __init__(self, path: Path, *texts: str) -> None:
        self.path = path
        self.log: list[str] = []
        self.fails: list[DuologError] = []
        self.query_fails: list[DuologError] = []
        self._texts = list(texts)
        self.write_next()

    def write_next(self) -> None:
        if not self._texts:
            raise Done
        self.path.write_text(self._texts.pop(0))

    def wait(self, _seconds: float) -> bool:
        if self.query_fails:
            raise self.query_fails.pop()
        self.write_next()
        return False

    def run(self, *, fresh: bool = False) -> None:
        file = TopologyFile(self.path)

        def make(topology: "Topology") -> "Application":
            fake = FakeApplication(topology.name, self.log, self.fails, self.wait)
            return cast("Application", fake)

        cleared = cast("FreshStart", FakeFreshStart(self.log)) if fresh else None
        options = StartOptions(create_topics=True, fresh=cleared, offer=offer)
        FileRunner(file, make, options, quiet=True).run(file.load())


@dataclass
class FakeFreshStart:
    """Writes down what is cleared."""

    log: list[str]

    def note(self, application: FakeApplication) -> None:
        pass

    def clear(self, application: FakeApplication) -> list[str]:
        self.log.append(f"clear {application.application_id}")
        return ["copy"]


def offer(error: DuologError) -> None:
    if isinstance(error, TopologyChanged):
        error.hint = "Run: `duolog run app.py --watch --fresh`."


def test_the_next_one_has_started_before_the_last_one_lets_go_of_the_jvm(tmp_path: Path) -> None:
    editor = Editor(tmp_path / "app.py", TEXT.format(name="one"), TEXT.format(name="two"))

    with pytest.raises(Done):
        editor.run()

    assert editor.log == ["start one", "stop one", "start two", "close one", "close two"]


def test_the_running_version_continues_while_the_file_is_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (TEXT.format(name="one"), "x = (", "x = 1", TEXT.format(name="two"))
    editor = Editor(tmp_path / "app.py", *texts)

    with pytest.raises(Done):
        editor.run()

    assert editor.log == ["start one", "stop one", "start two", "close one", "close two"]
    reported = capsys.readouterr().err
    assert "line 1 cannot be run: SyntaxError" in reported
    assert "defines no topology" in reported
    assert reported.count("the previous version keeps running") == 2


def test_a_start_that_is_refused_waits_for_the_next_change_and_keeps_the_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [TEXT.format(name=name) for name in ("one", "two", "three")]
    editor = Editor(tmp_path / "app.py", *texts)
    monkeypatch.setattr(following, "time", SimpleNamespace(sleep=lambda _: editor.write_next()))
    monkeypatch.setattr(TopologyFile, "wait_until_still", lambda _: None)
    waits = editor.wait

    def wait_and_refuse(seconds: float) -> bool:
        if not editor.fails and "start three" not in editor.log:
            editor.fails.append(QueryError("the topology has changed"))
        return waits(seconds)

    monkeypatch.setattr(editor, "wait", wait_and_refuse)

    with pytest.raises(Done):
        editor.run()

    assert editor.log == [
        "start one",
        "stop one",
        "close two",
        "stop one",
        "start three",
        "close one",
        "close three",
    ]
    reported = capsys.readouterr().err
    assert "error: the topology has changed\nwaiting for " in reported


def test_a_failed_query_is_reported_and_restarted_at_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = Editor(tmp_path / "app.py", TEXT.format(name="one"), TEXT.format(name="two"))
    editor.query_fails.append(QueryError("cannot process the record"))
    monkeypatch.setattr(following, "time", SimpleNamespace(sleep=lambda _: editor.write_next()))
    monkeypatch.setattr(TopologyFile, "wait_until_still", lambda _: None)

    with pytest.raises(Done):
        editor.run()

    assert editor.log[:3] == ["start one", "stop one", "start two"]
    assert "error: cannot process the record\nwaiting for" in capsys.readouterr().err


def test_an_error_that_no_change_of_the_file_fixes_ends_it(tmp_path: Path) -> None:
    editor = Editor(tmp_path / "app.py", TEXT.format(name="one"))
    editor.fails.append(ConfigError("there is no Java"))

    with pytest.raises(ConfigError):
        editor.run()

    assert editor.log == ["close one"]


def test_a_file_that_is_wrong_at_first_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.py"
    path.write_text("x = (")
    writes = threading.Timer(0.05, lambda: path.write_text(TEXT.format(name="mended")))
    writes.start()

    topology = load_until_valid(TopologyFile(path))
    writes.join()

    assert topology.name == "mended"
    assert "waiting for " in capsys.readouterr().err


class _Skipping:
    """A query that passes records over, for one more reason each time it is asked."""

    def __init__(self) -> None:
        self._reasons: list[Skipped] = []

    def progress(self) -> Progress:
        reason = f"reason {'abc'[len(self._reasons)]}"
        place = ("orders", 0, 17, "ann", '{"n":')
        self._reasons.append(Skipped("deserialization", reason, "", 2, *place))
        count = 2 * len(self._reasons)
        return Progress("micro-batch", "running", skipped={"deserialization": count})

    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(self._reasons)


def test_each_reason_for_skipped_records_is_reported_once_with_the_first_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = ProgressReporter(cast("RunningQuery", _Skipping()), quiet=False)

    reporter.report()
    reporter.report()
    reporter.report_skipped()

    reported = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in reported] == [
        "micro-batch, running: 0 records in, 0 out, lag ?, skipped 2 (deserialization 2)",
        '  skipped: cannot read 2 records of topic "orders": reason a',
        "micro-batch, running: 0 records in, 0 out, lag ?, skipped 4 (deserialization 4)",
        '  skipped: cannot read 2 records of topic "orders": reason b',
    ]
    assert 'partition 0, offset 17, key ann, value {"n":' in reported[1]


def test_a_key_in_another_form_is_reported_with_commands_to_write_and_read_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    topology = Topology("keys")
    topology.stream("orders", key="id BIGINT", value="n INT").to("out")
    spec = lower(find_levels(topology.build()), "keys", cache_bytes_max=0)
    reason = re.search(r"its key is [^']*", spec["sources"][0]["corrupt"])
    assert reason is not None
    skipped = Skipped("deserialization", reason[0], "", 1, "orders", 0, 17, "1001", None)
    query = SimpleNamespace(skipped=lambda: (skipped,))

    ProgressReporter(cast("RunningQuery", query), quiet=False).report_skipped()

    reported = capsys.readouterr().err
    assert "hint: write such keys with `duolog produce orders --key-type bigint`" in reported
    assert "`duolog consume orders --key 'id BIGINT'`" in reported


class Moving:
    """A query whose progress a test sets."""

    def __init__(self) -> None:
        self.records_in = 0

    def progress(self) -> Progress:
        lag = {"orders": 7}
        return Progress("real-time", "running", records_in=self.records_in, lag_records=lag)

    def skipped(self) -> tuple[Skipped, ...]:
        return ()


def test_on_a_pipe_a_line_about_progress_is_repeated_only_when_something_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = Moving()
    reporter = ProgressReporter(cast("RunningQuery", query), quiet=False)

    for records_in in (0, 0, 5, 5, 5):
        query.records_in = records_in
        reporter.report()

    assert capsys.readouterr().err.splitlines() == [
        "real-time, running: 0 records in, 0 out, lag 7",
        "real-time, running: 5 records in, 0 out, lag 7",
    ]


def test_a_dead_broker_is_reported_within_five_seconds_with_an_unknown_lag(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    problems = ""
    broker = BrokerWatch("b:1", "it waits", lambda _: ProbeResult(problems))
    reporter = ProgressReporter(cast("RunningQuery", Moving()), quiet=False)
    watcher = Watcher(reporter, broker, lambda: now)

    def printed_after(seconds: int) -> list[str]:
        nonlocal now
        for _ in range(seconds):
            now += 1
            watcher.report_due()
        return capsys.readouterr().err.splitlines()

    before = printed_after(12)
    problems = "refused"
    gone = printed_after(3)
    problems = ""
    back = printed_after(3)

    assert before == ["real-time, running: 0 records in, 0 out, lag 7"]
    assert gone == [
        "no broker answers at b:1: refused; it waits",
        "real-time, running: 0 records in, 0 out, lag ?",
    ]
    assert back == ["a broker answers again at b:1", before[0]]


def test_a_change_incompatible_with_state_is_refused_with_commands_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = Editor(tmp_path / "app.py", TEXT.format(name="one"), TEXT.format(name="two"))
    editor.fails = [TopologyChanged("it has changed")]
    monkeypatch.setattr(following, "time", SimpleNamespace(sleep=lambda _: editor.write_next()))
    monkeypatch.setattr(TopologyFile, "wait_until_still", lambda _: None)

    with pytest.raises(Done):
        editor.run()

    assert editor.log == ["close one", "start two", "close two"]
    assert "hint: Run: `duolog run app.py --watch --fresh`." in capsys.readouterr().err


def test_a_fresh_start_clears_state_and_results_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = Editor(tmp_path / "app.py", TEXT.format(name="one"), TEXT.format(name="two"))
    editor.fails = [TopologyChanged("the topology has changed")]

    with pytest.raises(Done):
        editor.run(fresh=True)

    assert editor.log[:2] == ["clear one", "start one"]
    said = capsys.readouterr().err
    assert "the topology has changed; deleting its state and starting from scratch" in said
    assert 'deleted topic "copy"' in said
