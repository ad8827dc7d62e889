"""`duolog start`: run a broker, a schema registry and a SQL server until they are stopped."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from click.core import ParameterSource

from duolog.cli.kafka.server_option import read_servers
from duolog.cli.kafka.servers_of_broker import (
    REGISTRY_URL,
    registry_of,
    registry_opener,
    server_of,
    settings_of_registry,
)
from duolog.cli.options import data_option, read_assignments, set_option, stop_with_stdin_option

if TYPE_CHECKING:
    from duolog.cli.start.layout import Layout

PROFILES: Final = ("dev", "team")
_OPTIONS: Final = {
    "broker_listen": "--broker-listen",
    "registry_listen": "--registry-listen",
    "hosts": "--host",
    "assignments": "--set",
}


class Given(NamedTuple):
    """Options of the command."""

    layout: "Layout"
    listen: str
    broker_listen: str
    registry_listen: str
    registry_url: str | None
    profile: str
    hosts: tuple[str, ...]
    query_properties: Path | None
    warm: bool
    assignments: tuple[str, ...]
    log_format: str

    def addresses(self) -> dict[str, str]:
        """Return the addresses of the servers that start, by option."""
        registry = {} if self.registry_url else {"registry-listen": self.registry_listen}
        return {"listen": self.listen, "broker-listen": self.broker_listen, **registry}

    def for_server(self, more: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return options of `duolog server`."""
        return (
            *("--data", str(self.layout.server), "--log-format", self.log_format),
            *(("--warm",) if self.warm else ()),
            *(("--advertise", f"{self.hosts[0]}:0") if self.hosts else ()),
            *(("--query-properties", str(self.query_properties)) if self.query_properties else ()),
            *(("--registry", self.registry_url) if self.registry_url else ()),
            *more,
        )


@click.command(epilog="The server is described in docs/guide/server.md.")
@data_option("Directory for everything that is kept.  [default: $XDG_DATA_HOME/duolog/start]")
@click.option(
    "--listen",
    default="127.0.0.1:8088",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of the SQL server. Port 0 selects a free port, here and below.",
)
@click.option(
    "--broker-listen",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of the broker.",
)
@click.option(
    "--registry-listen",
    default="127.0.0.1:8081",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of the schema registry.",
)
@click.option(
    "-b",
    "--bootstrap-servers",
    callback=read_servers,
    metavar="HOST:PORT,…",
    help="Run no broker, and use these brokers of another cluster instead.",
)
@click.option(
    "--client-properties",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Properties of Kafka clients for --bootstrap-servers, such as security.protocol.",
)
@click.option(
    "--registry-url",
    metavar="URL,…",
    help="Run no schema registry, and use this one instead. Its user is in DUOLOG_REGISTRY_USER "
    "and DUOLOG_REGISTRY_PASSWORD, as for duolog server.",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="dev",
    show_default=True,
    help="dev: no logins, for this machine only. team: TLS, logins and access control lists; the "
    "first start makes certificates and an administrator.",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME|ADDRESS",
    help="Name or IP address under which clients reach this machine, with --profile team. The "
    "first one is advertised. Repeatable.",
)
@click.option(
    "--query-properties",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Java properties file with properties of all statements, as with SET.",
)
@click.option("--warm", is_flag=True, help="Start the JVM now, not with the first query.")
@set_option("A broker setting. Repeatable.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", help="Format of the log."
)
@stop_with_stdin_option
@click.pass_context
def start(
    context: click.Context,
    /,
    *,
    data_dir: Path | None,
    bootstrap_servers: str | None,
    client_properties: Path | None,
    **options: Any,
) -> int:
    """Run a broker, a schema registry and a SQL server in one command.

    Prints a line for each when it is ready. Ctrl-C or SIGTERM stops them in order. With the address
    of a broker or a registry that exists, this one is used, and none is started.

    \b
    Examples:
      duolog start --data ./data
      duolog start -b kafka.example:9092 --registry-url http://registry.example:8081
      duolog start --data ./data --profile team --host duolog.example \\
          --listen 0.0.0.0:8088 --broker-listen 0.0.0.0:9092 --registry-listen 0.0.0.0:8081
    """
    # Imported late to keep `duolog start --help` fast.
    from duolog.cli.start.layout import Layout  # noqa: PLC0415
    from duolog.runtime.data_dirs import default_data_dir  # noqa: PLC0415

    given = Given(
        Layout((data_dir or default_data_dir("start")).resolve()),
        **{name: options[name] for name in Given._fields if name != "layout"},
    )
    _ensure_fitting(context, bootstrap_servers, client_properties, given)
    if bootstrap_servers is not None:
        return _run_over(bootstrap_servers, client_properties, given)
    return _run_all(given)


def _ensure_fitting(
    context: click.Context, brokers: str | None, properties: Path | None, given: Given
) -> None:
    """Refuse options of servers that this command does not start."""

    def refuse(names: tuple[str, ...], used: str, of: str) -> None:
        for name in names:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                option = _OPTIONS[name]
                raise click.UsageError(f"{option} is an option of {of}, which {used} replaces.")

    if brokers is not None:
        refuse(("broker_listen", "hosts", "assignments"), "-b", "the broker of this command")
        if given.profile == "team":
            raise click.UsageError(
                "--profile team makes users of the broker of this command, which -b replaces. Run "
                "duolog server --cluster-users for the users of the other cluster."
            )
    elif properties is not None:
        raise click.UsageError("--client-properties needs --bootstrap-servers.")
    if given.registry_url is not None:
        refuse(("registry_listen",), "--registry-url", "the registry of this command")
    if given.hosts and given.profile != "team":
        raise click.UsageError("--host needs --profile team.")


def _run_over(brokers: str, properties: Path | None, given: Given) -> int:
    """Run registry and server over the brokers of another cluster."""
    from duolog.cli.start.over_brokers import run_over_brokers  # noqa: PLC0415 - as above
    from duolog.runtime.server_of_broker import ServersOfBroker  # noqa: PLC0415

    login = () if properties is None else ("--client-properties", str(properties.resolve()))
    listen = None if given.registry_url else given.registry_listen
    registry = registry_of(listen, given.log_format, {}, login)
    server = server_of(given.listen, given.for_server(login), registry, {})
    given.layout.create()
    servers = [server] if registry is None else [registry, server]
    return run_over_brokers(ServersOfBroker(servers), brokers)


def _run_all(given: Given) -> int:
    """Run the broker, and the servers over it."""
    from duolog.broker.process import BrokerOptions, Edges, run  # noqa: PLC0415 - as above
    from duolog.broker.settings.arguments import ensure_no_secrets  # noqa: PLC0415
    from duolog.cli.registry.options import with_scheme  # noqa: PLC0415
    from duolog.cli.start.profiles import dev, ensure_loopback, team  # noqa: PLC0415
    from duolog.runtime.metrics.insecure_servers import note_insecure  # noqa: PLC0415
    from duolog.runtime.server_of_broker import ServersOfBroker  # noqa: PLC0415

    assigned = read_assignments(given.assignments)
    ensure_no_secrets(assigned)
    if given.profile == "team":
        chosen = team(given.layout, given.broker_listen, given.hosts)
    else:
        ensure_loopback(given.addresses(), assigned)
        chosen = dev(given.broker_listen)
    other = {}
    if given.registry_url and REGISTRY_URL not in assigned:
        other = settings_of_registry(with_scheme(given.registry_url))
    settings = {**other, **chosen.settings, "logging.format": given.log_format, **assigned}
    listen = None if given.registry_url else given.registry_listen
    registry = registry_of(listen, given.log_format, settings, chosen.https)
    # The authority of this command has not signed the certificate of another registry.
    trust = () if registry is None else chosen.registry_trust
    server = server_of(given.listen, given.for_server((*chosen.https, *trust)), registry, settings)
    given.layout.create()
    return run(
        BrokerOptions(
            data_dir=given.layout.broker,
            listen=(chosen.listen,),
            advertise=chosen.advertise,
            settings=settings,
        ),
        Edges(
            insecure=note_insecure,
            companion=ServersOfBroker([server] if registry is None else [registry, server]),
            open_registry=registry_opener(settings, registry, chosen.authority),
            administrator=chosen.administrator,
        ),
    )
