"""The options `--client-properties` and `--profile` of every command that connects to a cluster."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Final, TypeVar

import click
from click.core import ParameterSource

from duolog.core.addresses import whole_servers
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.profiles import (
    PROFILE_VARIABLE,
    PROPERTIES_VARIABLE,
    client_profile,
)

Command = TypeVar("Command", bound=Callable[..., object])
_NONE: Final[Mapping[str, str]] = {}
_SERVERS: Final = "bootstrap.servers"


def client_properties_options(command: Command) -> Command:
    """Add `--client-properties` and `--profile` to a command."""
    of_file = click.option(
        "--client-properties",
        "--command-config",
        "client_properties",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Properties of Kafka clients, as for Kafka's tools: security.protocol, "
        f"sasl.mechanism, …  [env var: {PROPERTIES_VARIABLE}]",
    )
    of_profile = click.option(
        "--profile",
        metavar="NAME",
        help="Profile of ~/.config/duolog/profiles.toml with addresses and client properties.  "
        f"[env var: {PROFILE_VARIABLE}]",
    )
    return of_file(of_profile(command))


def brokers_given(
    servers: str | None,
    client_properties: Path | None,
    profile: str | None,
    more: Mapping[str, str] = _NONE,
    parameter: str = "bootstrap_servers",
) -> Brokers:
    """Return the brokers that the options of a command name.

    An address on the command line or in the environment overrides the profile's, which overrides
    the default.

    Args:
        servers: the value of `--bootstrap-servers`.
        client_properties: a file of properties.
        profile: a profile of properties.
        more: properties of `-X`, over all others.
        parameter: the parameter of `servers`.

    Raises:
        ConfigError: a property or an address is refused.
    """
    found = client_profile(client_properties, profile, more)
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(parameter)
    is_default = source in {ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}
    at = (found.servers if is_default or servers is None else "") or servers or ""
    return found.brokers(whole_servers(more.get(_SERVERS, at)))


def application_brokers(
    servers: str | None, client_properties: Path | None, profile: str | None
) -> Brokers:
    """Return the brokers of an application, as `brokers_given`.

    Raises:
        ConfigError: a property or an address is refused, or a property is not one of connections.
    """
    client_profile(client_properties, profile).ensure_shared()
    return brokers_given(servers, client_properties, profile)


def optional_brokers(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--client-properties` and `--profile` to a command with an optional `-b`.

    The command gets `brokers` in place of them: None if they name no cluster.
    """

    @client_properties_options
    @wraps(command)
    def with_brokers(
        *args: object,
        bootstrap_servers: str | None,
        client_properties: Path | None,
        profile: str | None,
        **options: object,
    ) -> object:
        found = (client_properties, profile)
        if bootstrap_servers is not None or client_profile(*found).servers:
            brokers = application_brokers(bootstrap_servers, *found)
            return command(*args, brokers=brokers, **options)
        if client_properties is not None or profile is not None:
            raise click.UsageError(
                "--client-properties and --profile need the addresses of a cluster: give -b, or "
                "bootstrap.servers among the properties."
            )
        return command(*args, brokers=None, **options)

    return with_brokers
