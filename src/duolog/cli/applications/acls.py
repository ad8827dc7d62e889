"""Print the commands that give an application the rights it needs."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from duolog.security.clients.brokers import Brokers
from duolog.security.identity.principal import Principal

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology

Command = TypeVar("Command", bound=Callable[..., object])

KAFKA_ACLS: Final = "kafka-acls"
DUOLOG: Final = "duolog"
_CHOSEN: Final = "duolog.acl_tool"
SERVERS: Final = "HOST:PORT"
"""Shown in place of the addresses if none are given."""


def acl_tool_option(command: Command) -> Command:
    """Add `--acl-tool`, which `print_acls` reads from the context of the command."""

    def choose(context: click.Context, _parameter: click.Parameter, given: str) -> None:
        context.meta[_CHOSEN] = given

    return click.option(
        "--acl-tool",
        type=click.Choice([KAFKA_ACLS, DUOLOG]),
        default=KAFKA_ACLS,
        show_default=True,
        expose_value=False,
        callback=choose,
        help="The tool whose commands --print-acls prints.",
    )(command)


def read_principal(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Return the user of `--print-acls`; the click error names the form."""
    if given is None:
        return None
    try:
        return str(Principal.parse(given))
    except ValueError as error:
        raise click.BadParameter(f"{error}, such as User:alice") from error


def print_acls(
    topology: "Topology",
    principal: str,
    brokers: Brokers | None,
    settings: Mapping[str, str],
    *,
    create_topics: bool,
) -> None:
    """Print a command of the chosen tool for each resource; connects to nothing.

    Args:
        topology: the topology of the application.
        principal: the user that gets the rights.
        brokers: the cluster, if it is named.
        settings: settings of the engine.
        create_topics: whether missing source topics are created.

    Raises:
        ConfigError: a setting is invalid.
    """
    # Imported late to keep `duolog run --help` fast.
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415
    from duolog.runtime.required_acls import required_acls  # noqa: PLC0415

    config = EngineConfig.from_settings(settings, bootstrap_servers="", checkpoint_dir=Path())
    rules = required_acls(
        topology.build(),
        topology.name,
        exactly_once=config.exactly_once,
        dead_letter_topic=config.errors.dead_letter_topic,
        creates_sources=create_topics,
    )
    tool = click.get_current_context().meta.get(_CHOSEN, KAFKA_ACLS)
    servers = SERVERS if brokers is None else brokers.servers
    for rule in rules:
        click.echo(
            shlex.join(
                rule.own_command(principal, ("-b", servers))
                if tool == DUOLOG
                else rule.command(principal, servers)
            )
        )
