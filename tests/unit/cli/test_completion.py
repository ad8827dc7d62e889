import subprocess
import sys

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from duolog.cli.main import cli


def completions(*words: str) -> list[str]:
    *args, incomplete = words
    complete = BashComplete(cli, {}, "duolog", "_DUOLOG_COMPLETE")
    return [item.value for item in complete.get_completions(list(args), incomplete)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("to",), ["tokens", "top", "topics"]),
        (("topics", "del"), ["delete", "delete-records"]),
        (("groups", "re"), ["reset"]),
        (("schema", "re"), ["register"]),
        (("schema", "config", "--compatibility", "fu"), ["full", "full_transitive"]),
        (("topics", "create", "--part"), ["--partitions"]),
        (("groups", "reset", "--to-e"), ["--to-earliest"]),
        (("produce", "--input", "js"), ["jsonl"]),
        (("completion", "z"), ["zsh"]),
    ],
    ids=" ".join,
)
def test_commands_in_commands_and_their_options_are_completed(
    words: tuple[str, ...], found: list[str]
) -> None:
    assert completions(*words) == found


def test_without_a_broker_no_topic_is_completed() -> None:
    assert completions("consume", "-b", "127.0.0.1:1", "t") == []


def test_the_names_of_commands_are_completed_without_importing_them() -> None:
    program = (
        "import sys; from click.shell_completion import BashComplete\n"
        "from duolog.cli.main import cli\n"
        "BashComplete(cli, {}, 'duolog', 'X').get_completions([], 'to')\n"
        "heavy = {'confluent_kafka', 'duckdb', 'pyspark', 'rich', 'kio'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_duolog(shell: str) -> None:
    reported = CliRunner().invoke(cli, ["completion", shell])

    assert reported.exit_code == 0
    assert f"_DUOLOG_COMPLETE={shell}_complete" in reported.output
