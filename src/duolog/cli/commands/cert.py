"""`duolog cert`: make and renew certificates; see `security/certificates`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.options import Directory
from duolog.core.counts import counted

if TYPE_CHECKING:
    from duolog.security.certificates.authority import Authority

_DAYS: Final = 397
_days_option = click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=_DAYS,
    show_default=True,
    help="Validity of the certificates.",
)


class _CertGroup(click.Group):
    """A group whose default command is `create`: `duolog cert DIR`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((word for word in args if not word.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = ["create", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_CertGroup)
def cert() -> None:
    """Make certificates for TLS: an authority, a broker, clients.

    `duolog cert DIR` is short for `duolog cert create DIR`.

    \b
    Examples:
      duolog cert certificates
      duolog cert certificates --host broker.example --host 192.0.2.7
      duolog cert client certificates alice
      duolog cert renew certificates
      duolog cert renew certificates server
    """


@cert.command()
@click.argument("directory", type=Directory())
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME|ADDRESS",
    help="Name or IP address that clients connect to, besides localhost, 127.0.0.1 and ::1. "
    "Repeatable.",
)
@click.option(
    "--client", default="client", show_default=True, metavar="NAME", help="Name of the client."
)
@_days_option
def create(*, directory: Path, hosts: tuple[str, ...], client: str, days: int) -> None:
    """Make an authority, a broker's certificate and a client's.

    Writes ca.pem, ca.key, server.pem and NAME.pem, and prints the settings that use them. Nothing
    is overwritten.
    """
    from duolog.security.certificates.authority import (  # noqa: PLC0415
        DEFAULT_HOSTS,
        Authority,
    )

    made = Authority.create(directory, hosts=(*hosts, *DEFAULT_HOSTS), client=client, days=days)
    for name in ("ca.pem", "ca.key", "server.pem", f"{client}.pem"):
        click.echo(directory / name)
    click.echo(_usage(made, client, hosts[0] if hosts else "localhost"))


@cert.command("client")
@click.argument("directory", type=Directory())
@click.argument("name")
@_days_option
def add_client(*, directory: Path, name: str, days: int) -> None:
    """Make a certificate for another client; its principal is User:CN=NAME."""
    from duolog.security.certificates.authority import Authority  # noqa: PLC0415

    authority = Authority(directory)
    click.echo(authority.add_client(name, days=days))
    click.echo(_client_usage(authority, name))


@cert.command()
@click.argument("directory", type=Directory())
@click.argument("names", nargs=-1, metavar="[server|NAME]…")
@_days_option
def renew(*, directory: Path, names: tuple[str, ...], days: int) -> None:
    """Replace certificates and their keys by new ones; by default all.

    The authority stays, so clients and brokers trust the new ones. A running broker loads its new
    certificate by itself.
    """
    from duolog.security.certificates.authority import Authority  # noqa: PLC0415

    authority = Authority(directory)
    for path in authority.renew(names, days=days):
        click.echo(path)
    left = authority.certificate.not_valid_after_utc - datetime.now(UTC)
    if left.days < days:
        click.echo(
            f"The authority itself expires in {counted(left.days, 'day')}: make a new one in "
            "another directory, and let clients trust both meanwhile.",
            err=True,
        )


def _usage(authority: "Authority", client: str, host: str) -> str:
    path = authority.path
    return f"""
Start a broker with TLS, open to the clients that have a certificate:
  duolog broker --data ./data --listen SSL://0.0.0.0:9093 --advertise SSL://{host}:9093 \\
    --set ssl.keystore.location={path / "server.pem"} \\
    --set ssl.truststore.location={path / "ca.pem"} \\
    --set ssl.client.auth=required
{_client_usage(authority, client)}
Keep ca.key away from the broker: who has it can make certificates."""


def _client_usage(authority: "Authority", client: str) -> str:
    ca, own = authority.path / "ca.pem", authority.path / f"{client}.pem"
    return f"""
Properties of Java clients (principal User:CN={client}):
  security.protocol=SSL
  ssl.truststore.type=PEM
  ssl.truststore.location={ca}
  ssl.keystore.type=PEM
  ssl.keystore.location={own}

Properties of librdkafka and confluent-kafka:
  security.protocol=ssl
  ssl.ca.location={ca}
  ssl.certificate.location={own}
  ssl.key.location={own}

Arguments of kafka-python:
  security_protocol="SSL", ssl_cafile="{ca}", ssl_certfile="{own}"
"""
