"""An application in a notebook: repr, the list of applications, running a cell again."""

import io
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import duolog
from duolog import Application, Topology, count
from duolog.core.errors import ConfigError
from duolog.engine.query import query_registry
from duolog.engine.query.query_repr import query_repr
from duolog.runtime import application as of_application
from duolog.runtime import listing, waiting
from duolog.runtime.waiting import Waiting
from unit.engine.query.metrics_samples import full_metrics


class FakeQuery:
    """A query as `Engine.start` returns it."""

    def __init__(self, name: str = "counts") -> None:
        self.application_id = name
        self.state, self.mode = "running", "real-time"
        self.has_ended = False
        self.failure: Any = None

    def exception(self) -> Any:
        return self.failure

    def stop(self) -> None:
        self.state, self.has_ended = "stopped", True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[FakeQuery]]:
    """The queries that were started, without a broker and a JVM."""
    queries: list[FakeQuery] = []

    def start(_plan: object, name: str, _mode: str, *_: object) -> FakeQuery:
        query_registry.ensure_not_running(tmp_path / name, name)
        queries.append(FakeQuery(name))
        query_registry.note_running(tmp_path / name, queries[-1])  # type: ignore[arg-type]
        return queries[-1]

    engine = SimpleNamespace(
        config=SimpleNamespace(
            errors=SimpleNamespace(dead_letter_topic=None), schema_registry_url=""
        ),
        start=start,
        check=lambda *_: None,
        close=lambda: None,
    )
    for name in ("ensure_admitted", "ensure_reachable", "create_result_topics", "register_process"):
        monkeypatch.setattr(of_application, name, lambda *_: None)
    monkeypatch.setattr(of_application, "trace", lambda _: None)
    monkeypatch.setattr(Application, "_engine_of_this", lambda _: engine)
    yield queries
    for query in queries:
        query.stop()
    query_registry.forget_ended()


def counts(tmp_path: Path, name: str = "counts") -> Application:
    topology = Topology(name)
    topology.stream("in", key={"id": str}, value={"a": int}).group_by_key().aggregate(n=count()).to(
        "out"
    )
    return Application(topology, bootstrap_servers="127.0.0.1:9092", data_dir=tmp_path)


def test_an_application_shows_its_name_and_state(started: list[FakeQuery], tmp_path: Path) -> None:
    application = counts(tmp_path)
    assert repr(application) == "<Application counts: not started, on 127.0.0.1:9092>"

    query = application.start()
    assert repr(application) == "<Application counts: running in real-time, on 127.0.0.1:9092>"
    assert query_repr(query) == "<RunningQuery counts: running in real-time>"

    application.stop()
    assert repr(application) == "<Application counts: stopped, on 127.0.0.1:9092>"
    assert started[0].has_ended


def test_a_failed_query_shows_its_error() -> None:
    query = FakeQuery()
    query.failure = ConfigError("no such thing")

    assert query_repr(query) == "<RunningQuery counts: failed, no such thing>"


def test_a_cell_that_is_run_again_replaces_its_application(
    started: list[FakeQuery], tmp_path: Path
) -> None:
    first = counts(tmp_path)
    first.start(replace=True)
    second = counts(tmp_path)
    with pytest.raises(duolog.DuologError, match="is already running"):
        second.start()

    second.start(replace=True)

    assert [query.has_ended for query in started] == [True, False]
    assert (first.runs, second.runs) == (False, True)
    assert "stopped" in repr(first)


def test_an_unreferenced_application_is_replaced_too(
    started: list[FakeQuery], tmp_path: Path
) -> None:
    counts(tmp_path).start()

    counts(tmp_path).start(replace=True)

    assert [query.has_ended for query in started] == [True, False]


def test_others_are_not_replaced(started: list[FakeQuery], tmp_path: Path) -> None:
    counts(tmp_path, "totals").start()

    counts(tmp_path).start(replace=True)

    assert [query.has_ended for query in started] == [False, False]


def test_a_failed_start_replaces_nothing(
    started: list[FakeQuery], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts(tmp_path).start()

    def refuse(*_: object) -> None:
        raise ConfigError("no such setting")

    monkeypatch.setattr(of_application, "ensure_admitted", refuse)
    with pytest.raises(ConfigError):
        counts(tmp_path).start(replace=True)

    assert [query.has_ended for query in started] == [False]


def test_the_list_has_what_runs_here_and_in_other_processes(
    monkeypatch: pytest.MonkeyPatch, started: list[FakeQuery], tmp_path: Path
) -> None:
    here = full_metrics()
    application = counts(tmp_path, here.application_id)
    application.start()
    reported = [{**here.to_json(), "pid": os.getpid()}, {**here.to_json(), "pid": 1}]
    monkeypatch.setattr(listing, "local_applications", lambda: [here])
    monkeypatch.setattr(listing, "list_applications", lambda: reported)

    other, own = sorted(duolog.applications(), key=lambda one: one.application is not None)

    assert (own.pid, own.application) == (os.getpid(), application)
    assert (other.pid, other.application) == (1, None)
    assert repr(own).endswith(", in this process>")
    assert repr(other).startswith(f"<{here.application_id}: {here.state} in {here.mode}, lag ")
    assert repr(other).endswith(", process 1>")
    assert started


class Seen(io.StringIO):
    """A stream that records when each second was written."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = threading.Event()

    def write(self, text: str) -> int:
        if re.search(r"\d s", text):
            self.counted.set()
        return super().write(text)


def test_a_start_at_a_prompt_counts_the_seconds_and_ends_with_a_line() -> None:
    stream = Seen()

    with Waiting("counts", stream, every_s=0.001):
        assert stream.counted.wait(60)

    lines = stream.getvalue().split("\r")
    assert lines[1] == "counts: starting Spark and the query …"
    assert lines[2].startswith("counts: starting Spark and the query … 0 s")
    assert lines[-1].rstrip(" ").endswith("\n")
    assert lines[-1].split() == ["counts:", "running", "after", "0", "s"]


def test_a_failing_start_prints_a_line_and_raises_the_error() -> None:
    stream = io.StringIO()

    with pytest.raises(ConfigError), Waiting("counts", stream):
        raise ConfigError("no such setting")

    assert "not started, after" in stream.getvalue()


def test_scripts_are_unaffected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "is_interactive", lambda: False)
    with Waiting.for_a_person("counts"):
        pass

    assert capsys.readouterr() == ("", "")


def test_a_notebook_and_a_prompt_are_distinguished_from_a_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delattr(sys, "ps1", raising=False)
    assert not waiting.is_interactive()

    shell = SimpleNamespace(get_ipython=lambda: None)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert not waiting.is_interactive()
    shell.get_ipython = object
    assert waiting.is_interactive()
