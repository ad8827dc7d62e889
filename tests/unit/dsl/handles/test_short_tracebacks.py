"""Tracebacks of an invalid topology end at the user's line; all others are complete."""

import doctest
import inspect
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import duolog.dsl.expressions.columns
import duolog.dsl.streams
from duolog import Topology, call, col, top_k, tumbling
from duolog.core.errors import StatementError
from duolog.dsl.handles.short_tracebacks import short_traceback

SCRIPT = """\
from duolog import Topology, col, sum_, tumbling
s = Topology("t").stream("s", key={"id": str}, value={"a": int})
"""


def run(tmp_path: Path, line: str, **env: str) -> list[str]:
    (tmp_path / "app.py").write_text(f"{SCRIPT}{line}\n")
    printed = subprocess.run(
        [sys.executable, "app.py"],
        cwd=tmp_path,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return printed.stderr.splitlines()


def test_a_script_prints_its_line_and_the_error(tmp_path: Path) -> None:
    printed = run(tmp_path, 's.filter(col("b") == 1)')

    assert printed == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path / "app.py"}", line 3, in <module>',
        '    s.filter(col("b") == 1)',
        'duolog.plan.errors.UnknownName: app.py:3: unknown column "b"',
        "detail: The known names are id, a.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        's.filter(col("b") == 1)',
        's.with_columns(x="a")',
        "s.groupby",
        's["a"]',
        's.join(s, how="left")',
        's.group_by("id").aggregate(x=col("a"))',
        's.group_by("id").windowed_by("1 hour")',
        'Topology("t").stream("s", value={"a": "text"})',
        'tumbling("an hour")',
        's.filter(col("a").cast("text"))',
        'bool(col("a"))',
        'col("a") == [1]',
        'Topology("t").build()',
        "s.to_table(ttl=-1)",
    ],
)
def test_no_frame_of_duolog_is_below_the_line_of_the_user(line: str) -> None:
    code = compile(f"{SCRIPT}{line}\n", "app.py", "exec")

    with pytest.raises(StatementError) as caught:
        exec(code, {"__name__": "app"})  # noqa: S102 - lines of this file

    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == ("app.py", 3)
    assert caught.value.place.endswith("app.py:3")


def test_an_environment_variable_shows_all_frames(tmp_path: Path) -> None:
    printed = run(tmp_path, 's.filter(col("b") == 1)', DUOLOG_TRACEBACK="full")

    assert any("duolog/dsl/steps/records.py" in line for line in printed)


def test_an_error_that_is_a_bug_keeps_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a bug of ours")

    monkeypatch.setattr("duolog.dsl.steps.records.find_fields", broken)
    stream = Topology("t").stream("s", value={"a": int})

    with pytest.raises(KeyError) as caught:
        stream.filter(col("a") > 1)

    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["_predicate", "broken"]


def test_a_type_error_from_inside_keeps_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TypeError("a bug of ours")

    monkeypatch.setattr("duolog.dsl.steps.records.find_fields", broken)
    stream = Topology("t").stream("s", value={"a": int})

    with pytest.raises(TypeError, match="a bug of ours") as caught:
        stream.filter(col("a") > 1)

    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["_predicate", "broken"]


def test_frames_of_user_functions_called_by_duolog_stay() -> None:
    def of_user() -> None:
        raise StatementError("refused by the user's own function")

    @short_traceback
    def door() -> None:
        of_user()

    with pytest.raises(StatementError) as caught:
        door()

    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "of_user"


def test_a_cause_outside_of_duolog_is_kept() -> None:
    def unknown(a: "Nowhere") -> int:  # type: ignore[name-defined] # noqa: F821
        return 1

    with pytest.raises(StatementError) as caught:
        call(unknown)

    assert isinstance(caught.value.__cause__, NameError)


def test_methods_keep_their_signatures_and_docstrings() -> None:
    parameters = inspect.signature(duolog.dsl.streams.Stream.join).parameters

    assert [*parameters][:3] == ["self", "other", "on"]
    assert (top_k.__name__, top_k.__module__) == ("top_k", "duolog.dsl.expressions.aggregates")
    assert (tumbling.__doc__ or "").startswith("Return adjacent windows")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (duolog.dsl.expressions.columns, "duolog.dsl.expressions.columns.when"),
        (duolog.dsl.streams, "duolog.dsl.streams.Stream.join"),
    ],
)
def test_doctests_are_still_found(module: object, name: str) -> None:
    found = {one.name for one in doctest.DocTestFinder().find(module) if one.examples}

    assert name in found
