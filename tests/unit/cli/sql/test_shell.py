from collections.abc import Callable
from pathlib import Path

import pytest

from duolog.cli.sql import answer_formats
from duolog.cli.sql.script_runner import ScriptRunner, View
from duolog.cli.sql.shell import Shell
from unit.cli.sql.fakes import FakeEngine

Shells = Callable[[str], tuple[Shell, FakeEngine]]


@pytest.fixture
def shells() -> Shells:
    def made(form: str) -> tuple[Shell, FakeEngine]:
        engine = FakeEngine()
        return Shell(ScriptRunner(lambda: engine, View(form)), lambda: ["FLIGHTS"]), engine

    return made


def test_a_failing_statement_ends_a_pipe_but_not_a_terminal_session(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["FAIL fligths;", "CREATE x;"]

    piped, engine = shells("table")
    assert piped.run_batch(texts) == 2
    assert engine.texts == texts[:1]

    typed, engine = shells("table")
    assert typed.run_interactively(iter(texts)) == 0
    assert engine.texts == texts
    reported = capsys.readouterr()
    assert reported.out == "done\n"
    assert reported.err.count("error: line 1:6: FLIGTHS does not exist.") == 2
    assert "hint: Did you mean FLIGHTS?" in reported.err


def test_ctrl_c_ends_the_query_and_not_the_shell(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, engine = shells("csv")

    assert shell.run_interactively(iter(["PUSH;", "SHOW;"])) == 0

    assert engine.closed == ["rows"]
    assert capsys.readouterr().out == "CARRIER,FLIGHTS\nAA,1\nCARRIER,FLIGHTS\nAA,32729\n,7\n"


@pytest.mark.parametrize("word", ["\\q", "exit", "QUIT;"])
def test_a_word_leaves(shells: Shells, word: str) -> None:
    shell, engine = shells("table")

    assert shell.run_interactively(iter([word, "SHOW;"])) == 0

    assert engine.texts == []


def test_how_answers_are_shown_can_be_changed(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, _ = shells("table")

    shell.run_interactively(
        iter(["\\output json", "SHOW;", "output TABULAR;", "SHOW;", "\\output vertical", "SHOW;"])
    )

    assert capsys.readouterr().out == (
        '{"CARRIER":"AA","FLIGHTS":32729}\n{"CARRIER":null,"FLIGHTS":7}\n'
        "Flights\n CARRIER | FLIGHTS\n---------+---------\n AA      |   32729\n null    |       7\n(2 rows)\n"
        "Flights\n-[ 1 ]-------\nCARRIER | AA\nFLIGHTS | 32729\n-[ 2 ]-------\nCARRIER | null\nFLIGHTS | 7\n(2 rows)\n"
    )


def test_timing_is_reported_in_addition_to_the_rows(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, _ = shells("json")

    shell.run_interactively(iter(["\\timing", "SHOW;", "\\timing off", "SHOW;"]))

    assert capsys.readouterr().err.count("Time: ") == 1


def test_an_unknown_command_is_reported(shells: Shells, capsys: pytest.CaptureFixture[str]) -> None:
    shell, engine = shells("table")

    shell.run_interactively(iter(["\\output xml", "\\nothing"]))

    reported = capsys.readouterr().err
    assert "one of table, json, csv, vertical" in reported
    assert "Unknown command \\nothing" in reported
    assert engine.texts == []


def test_a_script_is_relative_to_the_working_directory_and_its_errors_name_it(
    shells: Shells, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner.sql").write_text("\n\nFAIL me;")
    (tmp_path / "outer.sql").write_text("CREATE a;\nRUN SCRIPT 'inner.sql';")
    shell, engine = shells("table")

    status = shell.run_batch([f"CREATE b; run script '{tmp_path}/outer.sql';\nCREATE c;"])

    assert status == 2
    assert [text.strip() for text in engine.texts] == ["CREATE b;", "CREATE a;", "FAIL me;"]
    assert f"error: {tmp_path}/inner.sql:1:6: " in capsys.readouterr().err


def test_a_script_in_latin_1_is_refused_with_its_name_and_line(
    shells: Shells, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latin.sql").write_bytes("CREATE a;\n-- grün".encode("latin-1"))
    shell, engine = shells("table")

    assert shell.run_batch([f"RUN SCRIPT '{tmp_path}/latin.sql';"]) == 2
    assert engine.texts == []
    assert 'latin.sql", line 2, is not UTF-8' in capsys.readouterr().err


def test_a_script_that_runs_itself_is_refused(
    shells: Shells, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a.sql"
    script.write_text("RUN SCRIPT 'a.sql';")
    shell, _ = shells("table")

    assert shell.run_batch([f"RUN SCRIPT '{script}';"]) == 2

    assert "runs itself, directly or through other scripts" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["clear", "\\clear", "CLEAR;"])
def test_the_screen_is_cleared(shells: Shells, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    cleared: list[str] = []
    monkeypatch.setattr("click.clear", lambda: cleared.append("screen"))
    shell, engine = shells("table")

    shell.run_interactively(iter([word]))

    assert cleared == ["screen"]
    assert engine.texts == []


@pytest.mark.parametrize("off", ["SET CLI WRAP OFF;", "set cli wrap off", "SET CLI WRAP 'OFF';"])
def test_wide_values_are_folded_unless_ksqldbs_word_turns_that_off(
    shells: Shells, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], off: str
) -> None:
    monkeypatch.setattr(answer_formats, "_width", lambda: 18)
    shell, engine = shells("table")

    shell.run_interactively(iter(["SHOW;", off, "WIDE;", "SET CLI WRAP ON;", "WIDE;"]))

    assert engine.texts == ["SHOW;", "WIDE;", "WIDE;"]
    reported = capsys.readouterr()
    assert reported.out.count("American Airlines") == 1, "folded with WRAP ON"
    assert "wrap is off" in reported.err


def test_an_unknown_set_cli_option_lists_the_valid_ones(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, engine = shells("table")

    shell.run_interactively(iter(["SET CLI COLOUR ON;"]))

    assert "Use SET CLI WRAP ON or SET CLI WRAP OFF." in capsys.readouterr().err
    assert engine.texts == []


def test_a_result_without_rows_states_the_reason(
    shells: Shells, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, _ = shells("table")

    shell.run_interactively(iter(["NONE;", "SHOW;"]))

    assert capsys.readouterr().err == "no rows yet: query CTAS_N_1 is starting\n"
