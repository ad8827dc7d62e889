"""The command as a shell starts it: a process with words, a locale and standard streams of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from duolog.cli.main import COMMANDS, cli
from unit.cli.test_main import every_command

DUOLOG = Path(sys.executable).with_name("duolog")
DOORS = {"duolog": [str(DUOLOG)], "python -m duolog": [sys.executable, "-m", "duolog"]}
NOWHERE = {"DUOLOG_BOOTSTRAP_SERVERS": "127.0.0.1:1"}


def run(
    words: list[str | bytes], *, text: str | bytes = b"", **variables: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    data = text.encode() if isinstance(text, str) else text
    environment: dict[str, str | bytes] = {**os.environ, **NOWHERE, **variables}
    return subprocess.run(
        words, input=data, capture_output=True, check=False, timeout=120, env=environment
    )


@pytest.mark.parametrize("door", DOORS)
def test_without_words_the_commands_are_listed(door: str) -> None:
    done = run([*DOORS[door]])

    assert done.returncode == 2
    assert all(f"\n  {name} ".encode() in done.stderr for name in COMMANDS)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("door", DOORS)
def test_each_entry_point_prints_its_version(door: str) -> None:
    done = run([*DOORS[door], "--version"])

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"duolog, version ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_tab_completes_a_command(shell: str) -> None:
    words = {"COMP_WORDS": "duolog top", "COMP_CWORD": "top" if shell == "fish" else "1"}

    done = run([str(DUOLOG)], _DUOLOG_COMPLETE=f"{shell}_complete", **words)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"topics" in done.stdout
    assert b"consume" not in done.stdout


def test_the_script_for_bash_completes_in_bash() -> None:
    path = f"{DUOLOG.parent}{os.pathsep}{os.environ['PATH']}"
    script = """
        eval "$(duolog completion bash)"
        COMP_WORDS=(duolog top); COMP_CWORD=1
        _duolog_completion duolog
        echo ${COMPREPLY[@]}
    """

    done = run(["bash", "-c", script], PATH=path)

    assert (done.stdout, done.stderr) == (b"top topics\n", b"")


def test_completion_after_any_command_is_not_an_error() -> None:
    complete = BashComplete(cli, {}, "duolog", "_DUOLOG_COMPLETE")

    for name, _ in every_command(cli, "duolog"):
        words = [*name.split()[1:], "-b", "127.0.0.1:1"]
        for incomplete in ("", "--", "-", "x", "\udcff"):
            complete.get_completions(words[:-2], incomplete)
        complete.get_completions(words, "")


NOT_UTF8 = b"caf\xe9"


@pytest.mark.parametrize(
    "words",
    [
        [NOT_UTF8],
        ["topics", "describe", NOT_UTF8],
        ["topics", "create", "t", "-c", b"retention.ms=" + NOT_UTF8],
        ["produce", "t", "-k", NOT_UTF8],
        ["consume", "t", "-g", NOT_UTF8],
        ["consume", "t", "-X", b"client.id=" + NOT_UTF8],
        ["groups", "describe", NOT_UTF8],
        ["sql", "-e", b"SHOW " + NOT_UTF8],
        ["run", NOT_UTF8],
        ["init", NOT_UTF8],
    ],
    ids=str,
)
def test_a_word_that_is_not_utf_8_is_refused_by_its_number(
    words: list[str | bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    done = run([str(DUOLOG), *words])

    assert done.returncode == 2
    assert b'not UTF-8: "' in done.stderr
    assert rb"caf\xe9" in done.stderr
    assert b"argument %d " % len(words) in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_variable_that_is_not_utf_8_is_refused_by_its_name() -> None:
    done = run([str(DUOLOG), "topics", "list"], DUOLOG_BOOTSTRAP_SERVERS=NOT_UTF8)

    assert done.returncode == 2
    assert b"variable DUOLOG_BOOTSTRAP_SERVERS is not UTF-8" in done.stderr


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("words", ["", "topics list", "sql", "sql fmt -", "topics delete t"])
def test_a_closed_stream_causes_no_traceback(closed: str, words: str) -> None:
    done = run(["bash", "-c", f"exec '{DUOLOG}' {words} {closed}"])

    assert done.returncode in {0, 2, 5}
    assert b"Traceback" not in done.stderr


LATIN_1 = "-- grün\nSHOW STREAMS;\n".encode("latin-1")


@pytest.mark.parametrize("command", ["fmt", "lint", "lineage", "test", "-f"])
def test_a_file_of_statements_in_latin_1_is_refused_with_file_and_line(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "latin.sql"
    file.write_bytes(LATIN_1)

    done = run([str(DUOLOG), "sql", command, str(file)])

    assert done.returncode == 2
    assert f'file "{file}", line 1, is not UTF-8'.encode() in done.stderr
    assert file.read_bytes() == LATIN_1


def test_statements_of_standard_input_in_latin_1_are_refused_with_their_line() -> None:
    done = run([str(DUOLOG), "sql", "fmt", "-"], text=b"SHOW STREAMS;\n" + LATIN_1)

    assert done.returncode == 2
    assert b'file "<stdin>", line 2, is not UTF-8' in done.stderr


CREATE = "CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic = 's', value_format = 'JSON');\n"


@pytest.mark.parametrize("command", ["lint", "lineage", "test"])
def test_a_file_of_statements_with_a_byte_order_mark_is_read(tmp_path: Path, command: str) -> None:
    file = tmp_path / "bom.sql"
    file.write_bytes(f"\ufeff--@test: one\n{CREATE}".encode())

    done = run([str(DUOLOG), "sql", command, str(file)])

    assert done.returncode == 0, done.stderr
