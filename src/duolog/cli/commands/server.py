"""`duolog server`: run the SQL server over a Kafka cluster until it is stopped."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duolog.cli.http_service import HttpService, http_service_options
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.inner_login import logged_in, login_option
from duolog.cli.options import (
    data_option,
    stop_with_stdin_option,
)
from duolog.cli.registry.options import (
    RegistryAddress,
    pass_on,
    sql_properties,
    sql_registry_options,
)
from duolog.core.java_properties import parse_properties
from duolog.core.text_files import read_text_file

if TYPE_CHECKING:
    from duolog.security.logins.inner import InnerLogin


def _properties(file: Path | None) -> Mapping[str, str]:
    return {} if file is None else dict(parse_properties(read_text_file(file)))


@click.command(epilog="The server is described in docs/guide/server.md.")
@click.option(
    "--listen",
    default="127.0.0.1:8088",
    show_default=True,
    metavar="HOST:PORT",
    help="Address to listen on. Port 0 selects a free port.",
)
@click.option(
    "--advertise",
    default="",
    metavar="HOST:PORT",
    help="Address of this server that SHOW QUERIES and others see; default: that of --listen, with "
    "this machine's name for 0.0.0.0. Port 0 stands for that of --listen.",
)
@click.option(
    "--base-path",
    default="",
    metavar="PATH",
    help="Prefix of all paths, such as /sql, for a proxy that does not remove it.",
)
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy that reports its clients in X-Forwarded-For. Repeatable.",
)
@click.option(
    "--service-id",
    default="default_",
    show_default=True,
    help="Service id; each has its own streams, tables and queries.",
)
@data_option("Directory for the state of queries.  [default: $XDG_DATA_HOME/duolog/sql]")
@sql_registry_options
@click.option(
    "--query-properties",
    "properties_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Java properties file with properties of all statements, as with SET.",
)
@http_service_options("server")
@click.option("--warm", is_flag=True, help="Start the JVM now, not with the first query.")
@cluster_options
@login_option
@click.option("--registry-of-broker", is_flag=True, hidden=True)
@stop_with_stdin_option
def server(
    *,
    inner: "InnerLogin | None",
    registry_of_broker: bool,
    warm: bool,
    listen: str,
    advertise: str,
    base_path: str,
    proxies: tuple[str, ...],
    service_id: str,
    data_dir: Path | None,
    registry: RegistryAddress,
    properties_file: Path | None,
    http: HttpService,
    cluster: Cluster,
) -> int:
    """Run a server for SQL over HTTP, with ksqlDB's REST interface.

    Speaks HTTP/1.1 and HTTP/2 on one port. Prints `duolog server ready on URL` when it answers.
    Ctrl-C or SIGTERM stops it.

    \b
    Examples:
      duolog server -b kafka.example:9092 --listen 127.0.0.1:8088
      duolog server --client-properties server.properties --cluster-users
      duolog server --listen 0.0.0.0:8088 --cluster-users --tls-cert server.pem
    """
    # Imported late to keep `duolog server --help` fast.
    from duolog import __version__  # noqa: PLC0415
    from duolog.registry.store.clients import KafkaOptions  # noqa: PLC0415
    from duolog.runtime.data_dirs import default_data_dir  # noqa: PLC0415
    from duolog.runtime.metrics.insecure_servers import note_insecure  # noqa: PLC0415
    from duolog.server.process import ServerOptions, run  # noqa: PLC0415

    pass_on(registry)
    cluster = logged_in(cluster, inner)
    if inner is not None and registry_of_broker:
        # The registry of the same broker has the same login. Another one must not see it.
        registry = replace(registry, user=inner.user, password=inner.password)
    return run(
        ServerOptions(
            brokers=cluster.brokers,
            data=data_dir or default_data_dir("sql"),
            properties=sql_properties(registry, _properties(properties_file)),
            engine_settings={"logging.format": "json"} if http.log_format == "json" else {},
            warm=warm,
            kafka=KafkaOptions(cluster.bootstrap_servers, properties=cluster.properties),
            listen=listen,
            advertise=advertise,
            service_id=service_id,
            base_path=base_path,
            proxies=proxies,
            access=http.access,
            hosts=http.hosts,
            tls_certificate=http.tls_certificate,
            tls_key=http.tls_key,
            insecure=http.insecure,
            noted=note_insecure,
            version=__version__,
        ),
        report=click.echo,
    )
