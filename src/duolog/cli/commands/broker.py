"""`duolog broker`: run a broker in this process until it is stopped."""

from pathlib import Path

import click

from duolog.cli.kafka.registry_tls import RegistryTlsOptions, registry_tls_options
from duolog.cli.kafka.servers_of_broker import REGISTRY_URL, registry_of, registry_opener
from duolog.cli.options import (
    data_option,
    read_assignments,
    set_option,
    stop_with_stdin_option,
)


@click.command(epilog="Settings are described in docs/reference/config.md.")
@data_option("Data directory; created if missing. --config can set it as log.dirs.")
@click.option(
    "--listen",
    multiple=True,
    metavar="[NAME://]HOST:PORT",
    help="Address to listen on; default 127.0.0.1:9092. Port 0 selects a free port. Repeatable.",
)
@click.option(
    "--advertise",
    multiple=True,
    metavar="[NAME://]HOST:PORT",
    help="Address that clients use to connect; default: that of --listen. Give one for each "
    "listener.",
)
@set_option("A broker setting. Repeatable.", "-c", "--override")
@click.option(
    "--config",
    "config_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with broker settings, as TOML or as Kafka's NAME.properties. --set "
    "takes precedence.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="Format of the log; sets logging.format.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Accept that others can connect without authentication or encryption; sets "
    "allow.insecure.listen.",
)
@click.option(
    "--registry",
    "registry_listen",
    metavar="HOST:PORT",
    help="Also run a schema registry at this address, see `duolog registry`.",
)
@registry_tls_options
@click.option(
    "--schema-registry-url",
    "registry_url",
    metavar="URL",
    help="Schema registry for topics with confluent.value.schema.validation; sets "
    "confluent.schema.registry.url.",
)
@stop_with_stdin_option
def broker(
    *,
    data_dir: Path | None,
    listen: tuple[str, ...],
    advertise: tuple[str, ...],
    assignments: tuple[str, ...],
    config_path: Path | None,
    log_format: str | None,
    insecure: bool,
    registry_listen: str | None,
    registry_tls: RegistryTlsOptions,
    registry_url: str | None,
) -> int:
    """Run a Kafka-compatible broker.

    Prints `duolog broker ready on HOST:PORT` when it accepts connections. Ctrl-C or SIGTERM stops
    it.

    \b
    Examples:
      duolog broker --data ./data
      duolog broker --data ./data --listen 127.0.0.1:0 --set durability=os
      duolog broker --data ./data --registry 127.0.0.1:8081
      duolog broker --config secured.toml --registry 0.0.0.0:8081 --registry-tls-cert s.pem \\
          --registry-ca-file ca.pem --registry-allow-host registry.example
      duolog broker --config server.properties
      duolog broker --data ./data --listen IN://127.0.0.1:9092 --listen OUT://0.0.0.0:9093 \\
          --advertise OUT://broker.example:9093 --insecure
      duolog broker --data ./data --listen SSL://127.0.0.1:9093 \\
          --set ssl.keystore.location=certificates/server.pem
    """
    # Imported late to keep `duolog broker --help` fast.
    from duolog.broker.process import BrokerOptions, Edges, run  # noqa: PLC0415
    from duolog.broker.settings.arguments import ensure_no_secrets  # noqa: PLC0415
    from duolog.broker.settings.config_file import (  # noqa: PLC0415
        ConfigFile,
        read_config,
        sorted_out,
    )
    from duolog.runtime.metrics.insecure_servers import note_insecure  # noqa: PLC0415

    file = read_config(config_path) if config_path else ConfigFile({})
    form = {"logging.format": log_format} if log_format else {}
    if insecure:
        form["allow.insecure.listen"] = "true"
    if registry_url is not None:
        form[REGISTRY_URL] = registry_url
    assigned = read_assignments(assignments)
    ensure_no_secrets(assigned)
    given = sorted_out(form | assigned)
    data_dir = data_dir or given.data_dir or file.data_dir
    if data_dir is None:
        raise click.UsageError("Missing option '--data', or log.dirs in the --config file.")
    settings = file.settings | given.settings
    more = registry_tls.arguments_at(registry_listen)
    registry = registry_of(registry_listen, log_format, settings, more)
    return run(
        BrokerOptions(
            data_dir=data_dir.resolve(),
            listen=listen,
            advertise=advertise,
            settings=settings,
            passed_over=file.passed_over + given.passed_over,
        ),
        Edges(
            insecure=note_insecure,
            companion=registry,
            open_registry=registry_opener(settings, registry, registry_tls.authorities),
        ),
    )
