"""`duolog start`: run a broker, a schema registry and a SQL server until they are stopped."""

from pathlib import Path

import click

from duolog.cli.kafka.servers_of_broker import registry_of, registry_opener, server_of
from duolog.cli.options import data_option, read_assignments, set_option, stop_with_stdin_option

PROFILES = ("dev", "team")


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
@click.option("--warm", is_flag=True, help="Start the JVM now, not with the first query.")
@set_option("A broker setting. Repeatable.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", help="Format of the log."
)
@stop_with_stdin_option
def start(
    *,
    data_dir: Path | None,
    listen: str,
    broker_listen: str,
    registry_listen: str,
    profile: str,
    hosts: tuple[str, ...],
    warm: bool,
    assignments: tuple[str, ...],
    log_format: str,
) -> int:
    """Run a broker, a schema registry and a SQL server in one command.

    Prints a line for each when it is ready. Ctrl-C or SIGTERM stops them in order.

    \b
    Examples:
      duolog start --data ./data
      duolog start --data ./data --profile team --host duolog.example \\
          --listen 0.0.0.0:8088 --broker-listen 0.0.0.0:9092 --registry-listen 0.0.0.0:8081
    """
    # Imported late to keep `duolog start --help` fast.
    from duolog.broker.process import BrokerOptions, Edges, run  # noqa: PLC0415
    from duolog.broker.settings.arguments import ensure_no_secrets  # noqa: PLC0415
    from duolog.cli.start.layout import Layout  # noqa: PLC0415
    from duolog.cli.start.profiles import dev, team  # noqa: PLC0415
    from duolog.runtime.data_dirs import default_data_dir  # noqa: PLC0415
    from duolog.runtime.metrics.insecure_servers import note_insecure  # noqa: PLC0415
    from duolog.runtime.server_of_broker import ServersOfBroker  # noqa: PLC0415

    given = read_assignments(assignments)
    ensure_no_secrets(given)
    layout = Layout((data_dir or default_data_dir("start")).resolve())
    if profile == "team":
        chosen = team(layout, broker_listen, hosts)
    elif hosts:
        raise click.UsageError("--host needs --profile team.")
    else:
        chosen = dev(broker_listen)
    settings = {**chosen.settings, "logging.format": log_format, **given}
    registry = registry_of(registry_listen, log_format, settings, chosen.https)
    assert registry is not None
    arguments = (
        *("--data", str(layout.server), "--log-format", log_format),
        *(("--warm",) if warm else ()),
        *chosen.https,
        *chosen.registry_trust,
    )
    server = server_of(listen, arguments, registry, settings)
    layout.create()
    return run(
        BrokerOptions(
            data_dir=layout.broker,
            listen=(chosen.listen,),
            advertise=chosen.advertise,
            settings=settings,
        ),
        Edges(
            insecure=note_insecure,
            companion=ServersOfBroker([registry, server]),
            open_registry=registry_opener(settings, registry, chosen.authority),
            administrator=chosen.administrator,
        ),
    )
