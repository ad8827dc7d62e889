import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from duolog.cli.kafka.server_option import read_servers
from duolog.cli.main import COMMANDS, cli, main


@pytest.mark.parametrize("name", COMMANDS)
def test_a_listed_command_is_there_and_has_help(name: str) -> None:
    module, attribute = COMMANDS[name][0].split(":")

    command = getattr(import_module(module), attribute)

    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help


def every_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from every_command(found, f"{name} {child}")


def test_every_command_and_every_option_has_help() -> None:
    without = [
        f"{name} {parameter.opts[0]}"
        for name, command in every_command(cli, "duolog")
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden and not parameter.help
    ]

    assert without == []
    assert [name for name, command in every_command(cli, "duolog") if not command.help] == []


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["nope"])

    assert status == 2
    assert "No such command 'nope'" in capsys.readouterr().err


def test_help_goes_to_standard_output_and_imports_no_command() -> None:
    program = (
        "import sys; from duolog.cli.main import main; status = main(['--help'])\n"
        "heavy = {'confluent_kafka', 'duckdb', 'pyspark', 'rich', 'kio'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else status)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


def test_a_command_that_is_nearly_right_is_answered_with_the_right_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["group", "list"]) == 2
    assert "Did you mean 'groups'?" in capsys.readouterr().err


def test_the_topic_option_of_kafkas_tools_is_rejected_with_the_syntax(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["consume", "--topic", "orders"]) == 2
    assert "--topic is not an option here. Write: duolog consume orders" in capsys.readouterr().err


def test_every_command_validates_servers_in_the_same_way_before_it_starts() -> None:
    found = {
        name: option
        for name, command in every_command(cli, "duolog")
        for option in command.params
        if option.name == "bootstrap_servers"
    }

    assert {"duolog run", "duolog sql", "duolog demo", "duolog consume"} <= found.keys()
    assert [name for name, option in found.items() if option.callback is not read_servers] == []


def test_servers_that_are_no_address_start_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.py"
    file.write_text(
        "from duolog import Topology\n"
        "topology = Topology('t')\n"
        "topology.stream('a', value='n BIGINT').to('b')\n"
    )

    status = main(["run", str(file), "-b", "kafka:port", "--data", str(tmp_path / "data")])

    assert status == 2
    assert '"kafka:port" is not a broker address' in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
