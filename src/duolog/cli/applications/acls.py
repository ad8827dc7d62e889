"""Print the commands that give an application the rights it needs."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from duolog.security.clients.brokers import Brokers
from duolog.security.identity.principal import Principal

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology

KAFKA_ACLS: Final = "kafka-acls"
DUOLOG: Final = "duolog"
SERVERS: Final = "HOST:PORT"
"""Shown in place of the addresses if none are given."""


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
    tool: str,
) -> None:
    """Print a command for each resource; connects to nothing.

    Args:
        topology: the topology of the application.
        principal: the user that gets the rights.
        brokers: the cluster, if it is named.
        settings: settings of the engine.
        create_topics: whether missing source topics are created.
        tool: the tool whose commands are printed, `KAFKA_ACLS` or `DUOLOG`.

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
    servers = SERVERS if brokers is None else brokers.servers
    for rule in rules:
        click.echo(
            shlex.join(
                rule.own_command(principal, ("-b", servers))
                if tool == DUOLOG
                else rule.command(principal, servers)
            )
        )
