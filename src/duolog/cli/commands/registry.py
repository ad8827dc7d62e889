"""`duolog registry`: run a schema registry over a Kafka cluster until it is stopped."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.http_service import HttpService, http_service_options
from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.cli.kafka.inner_login import logged_in, login_option
from duolog.cli.options import stop_with_stdin_option

if TYPE_CHECKING:
    from duolog.registry.rules.settings import RulesSettings
    from duolog.security.logins.inner import InnerLogin

LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
_SESSION: Final = click.FloatRange(1, 300)


def _print_hash(context: click.Context, _param: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click's callback
    if not given or context.resilient_parsing:
        return
    from duolog.registry.access.passwords import hash_password  # noqa: PLC0415 - not needed to serve

    password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    click.echo(hash_password(password))
    context.exit()


def _rules(compatibility: str) -> "RulesSettings":
    from duolog.registry.records.values import CompatibilityLevel  # noqa: PLC0415 - as below
    from duolog.registry.rules.settings import RulesSettings  # noqa: PLC0415

    return RulesSettings(compatibility_level=CompatibilityLevel[compatibility.upper()])


@click.command(epilog="Schemas are described in docs/guide/schemas.md.")
@click.option(
    "--listen",
    default="127.0.0.1:8081",
    show_default=True,
    metavar="HOST:PORT",
    help="Address to listen on. Port 0 selects a free port.",
)
@click.option(
    "--advertise",
    default="",
    metavar="URL",
    help="URL that other registries of the group use to connect; default: that of --listen.",
)
@click.option(
    "--topic", default="_schemas", show_default=True, help="Topic with the schemas, as in Kafka."
)
@click.option(
    "--group",
    default="schema-registry",
    show_default=True,
    help="Group of the registries that share a topic; one of them writes.",
)
@click.option(
    "--compatibility",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="BACKWARD",
    show_default=True,
    help="Compatibility level of subjects, unless one is configured.",
)
@click.option(
    "--users",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with users, in TOML; all requests then need a name and a password. SIGHUP makes the "
    "registry read it again.",
)
@http_service_options("registry")
@click.option(
    "--hash-password",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_hash,
    help="Ask for a password, print its hash for the users file, and exit.",
)
@click.option(
    "--session-timeout",
    "session_s",
    type=_SESSION,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Replace a leader that gives no sign of life for so long.",
)
@click.option(
    "--skip-damaged-records",
    is_flag=True,
    help="Start although records of the topic cannot be read; each is named in the log.",
)
@cluster_options
@login_option
@stop_with_stdin_option
def registry(
    *,
    inner: "InnerLogin | None",
    listen: str,
    advertise: str,
    topic: str,
    group: str,
    compatibility: str,
    users: Path | None,
    session_s: float,
    skip_damaged_records: bool,
    http: HttpService,
    cluster: Cluster,
) -> int:
    """Run a schema registry for Avro, JSON Schema and Protobuf.

    Serves the REST interface of Confluent's registry and stores schemas in its format, in a
    compacted topic that is created if missing. Prints `duolog registry ready on URL` when it
    answers. Ctrl-C or SIGTERM stops it.

    Run several registries for availability: they elect a leader that writes, and the others forward
    writes to it.

    \b
    Examples:
      duolog registry -b kafka.example:9092 --listen 127.0.0.1:8081
      duolog registry --client-properties registry.properties --cluster-users
      duolog registry --hash-password
      duolog registry --listen 0.0.0.0:8081 --users users.toml --tls-cert server.pem \\
          --advertise https://registry-1.example:8081
    """
    # Imported late to keep `duolog registry --help` fast.
    from duolog import __version__  # noqa: PLC0415
    from duolog.registry.process import RegistryOptions, run  # noqa: PLC0415
    from duolog.registry.store.clients import KafkaOptions  # noqa: PLC0415
    from duolog.runtime.impact.of_registry import impact_in  # noqa: PLC0415
    from duolog.runtime.metrics.insecure_servers import note_insecure  # noqa: PLC0415

    cluster = logged_in(cluster, inner)
    return run(
        RegistryOptions(
            kafka=KafkaOptions(cluster.bootstrap_servers, topic, group, cluster.properties),
            listen=listen,
            advertise=advertise,
            users=users,
            access=http.access,
            inner=inner,
            tls_certificate=http.tls_certificate,
            tls_key=http.tls_key,
            hosts=http.hosts,
            insecure=http.insecure,
            noted=note_insecure,
            session_s=session_s,
            skip_damaged_records=skip_damaged_records,
            version=__version__,
            impact=impact_in(cluster.brokers),
            rules=_rules(compatibility),
        ),
        report=click.echo,
    )
