"""The options of commands that serve HTTP: users, TLS, names of the host, and the log."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from duolog.cli.options import Command, read_assignments, set_option

if TYPE_CHECKING:
    from duolog.registry.access.settings import AccessSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpService:
    """The chosen options of a service over HTTP.

    Attributes:
        access: settings of users and rights of the cluster; None without them.
        tls_certificate: PEM file with the certificate chain; None without TLS.
        tls_key: PEM file with the private key, if it is not in the first one.
        hosts: further names under which clients address the service.
        insecure: True if others may connect without authentication or encryption.
        log_format: `text` or `json`.
    """

    access: "AccessSettings | None"
    tls_certificate: Path | None
    tls_key: Path | None
    hosts: tuple[str, ...]
    insecure: bool
    log_format: str


def http_service_options(name: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return a decorator that adds the options, passed to the command as `http`.

    The command runs with its log on standard error, in the chosen format. `name` is the service in
    the help texts, such as `registry`.
    """

    def decorated(command: Callable[..., object]) -> Callable[..., object]:
        return _users(name)(_tls(name)(_hosts(name)(_log(_with_service(command)))))

    return decorated


def _with_service(command: Callable[..., object]) -> Callable[..., object]:
    @wraps(command)
    def with_service(
        *args: object,
        cluster_users: bool,
        assignments: tuple[str, ...],
        tls_cert: Path | None,
        tls_key: Path | None,
        hosts: tuple[str, ...],
        insecure: bool,
        log_format: str,
        log_level: str,
        **options: object,
    ) -> object:
        from duolog.broker.log_format import log_to_stderr  # noqa: PLC0415 - keeps `--help` fast

        log_to_stderr(log_format, log_level)
        service = HttpService(
            access=_access(assignments, cluster_users=cluster_users),
            tls_certificate=tls_cert,
            tls_key=tls_key,
            hosts=hosts,
            insecure=insecure,
            log_format=log_format,
        )
        return command(*args, http=service, **options)

    return with_service


def _users(name: str) -> Callable[[Command], Command]:
    def decorated(command: Command) -> Command:
        by_set = set_option(
            "A setting of --cluster-users, such as super.users=User:ann. Repeatable."
        )
        return click.option(
            "--cluster-users",
            is_flag=True,
            help="Take users, tokens and rights from the cluster: all requests then need a "
            f"password or a token. The {name}'s own user needs CLUSTER_ACTION on the cluster.",
        )(by_set(command))

    return decorated


def _tls(name: str) -> Callable[[Command], Command]:
    file = click.Path(exists=True, dir_okay=False, path_type=Path)

    def decorated(command: Command) -> Command:
        key = click.option("--tls-key", type=file, help="PEM file with the private key.")
        return click.option(
            "--tls-cert",
            type=file,
            help="PEM file with the certificate chain, and the private key unless --tls-key is "
            f"given: the {name} then speaks HTTPS. It is read again when it changes.",
        )(key(command))

    return decorated


def _hosts(name: str) -> Callable[[Command], Command]:
    def decorated(command: Command) -> Command:
        insecure = click.option(
            "--insecure",
            "--allow-insecure-listen",
            "insecure",
            is_flag=True,
            help="Accept that others can connect without authentication or encryption.",
        )
        return click.option(
            "--allow-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help=f"Another name under which clients address this {name}. Repeatable.",
        )(insecure(command))

    return decorated


def _log(command: Command) -> Command:
    level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="Level of the log; the access log has level info.",
    )
    return click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Format of the log.",
    )(level(command))


def _access(assignments: tuple[str, ...], *, cluster_users: bool) -> "AccessSettings | None":
    """Return the settings of a service with the users of the cluster."""
    if not cluster_users:
        if assignments:
            raise click.UsageError("--set needs --cluster-users.")
        return None
    from duolog.registry.access.settings import AccessSettings  # noqa: PLC0415 - as above

    return AccessSettings(read_assignments(assignments))
