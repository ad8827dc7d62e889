"""The command that is running, as text: the typed words, followed by other options."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from duolog.cli.commands.run import offer_of, run
from duolog.cli.terminal.command_again import command_again
from duolog.core.errors import DuologError
from duolog.engine.errors import StoresNotKept, TopologyChanged


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["a.py"], "duolog run a.py --fresh"),
        (["a b.py", "-q"], "duolog run 'a b.py' --quiet --fresh"),
        (
            ["--data", "d", "a.py", "--set", "x=1", "--set", "y=2 3"],
            "duolog run a.py --data d --set x=1 --set 'y=2 3' --fresh",
        ),
        (["a.py", "--watch", "--mode", "auto"], "duolog run a.py --mode auto --fresh"),
    ],
)
def test_a_command_is_repeated_as_it_was_typed(typed: list[str], message: str) -> None:
    @click.group("duolog")
    def duolog() -> None:
        pass

    @duolog.command("run")
    @click.argument("path")
    @click.option("-q", "--quiet", is_flag=True)
    @click.option("--watch", is_flag=True)
    @click.option("--mode", default="micro-batch")
    @click.option("--data")
    @click.option("--set", "assignments", multiple=True)
    @click.pass_context
    def _run(context: click.Context, /, **_: object) -> None:
        click.echo(command_again(context, "--fresh", without={"watch"}))

    result = CliRunner().invoke(duolog, ["run", *typed], prog_name="duolog")

    assert result.output.strip() == message


def offered(error: DuologError, *typed: str) -> str:
    """Return the hint of an error of `duolog run` that is given to its offer of commands."""
    with run.make_context("duolog run", [__file__, *typed]) as context:
        offer_of(context, "totals", context.params["data_dir"])(error)
    return error.hint.replace(__file__, "app.py").replace(f"{Path.cwd()}/", "")


def test_changed_state_is_refused_with_whole_commands() -> None:
    assert offered(TopologyChanged("x"), "--data", "./d", "--watch") == (
        "To see what an upgrade keeps: `duolog run app.py --data d --explain-upgrade`. "
        "To keep the state: `duolog run app.py --data d --upgrade keep`. "
        "To start from scratch: `duolog run app.py --data d --watch --fresh`."
    )


def test_options_that_the_command_does_not_get_are_repeated_with_their_values() -> None:
    hint = offered(TopologyChanged("x"), "--metrics", "127.0.0.1:0", "--log-format", "text", "-q")

    assert "`duolog run app.py --quiet --metrics 127.0.0.1:0 --log-format text --fresh`" in hint


def test_on_another_cluster_the_state_is_reset_by_hand() -> None:
    hint = offered(TopologyChanged("x"), "-b", "h:1", "--data", "d")

    assert hint.endswith("To start from scratch: `duolog state reset totals --data d -b h:1`.")


def test_an_upgrade_that_cannot_keep_all_names_the_others() -> None:
    hint = offered(StoresNotKept("x"), "--upgrade", "keep")

    assert "`duolog run app.py --upgrade rebuild`" in hint
    assert "`duolog run app.py --upgrade from-now`" in hint


def test_another_error_keeps_its_hint() -> None:
    assert offered(DuologError("x", hint="Wait.")) == "Wait."


@pytest.mark.parametrize("more", [["-b", "h:1"], ["--upgrade", "keep"]])
def test_a_fresh_start_is_refused_on_a_shared_cluster(more: list[str]) -> None:
    result = CliRunner().invoke(run, [__file__, "--fresh", *more])

    assert result.exit_code == 2
    assert "--fresh" in result.output
