"""TLS of the registry that a broker runs: the options of `duolog registry`, with a prefix."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Final

import click

from duolog.cli.options import Command

_FILE: Final = click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path)


@dataclass(frozen=True, slots=True)
class RegistryTlsOptions:
    """The chosen options.

    Attributes:
        certificate: PEM file with the certificate chain; None without TLS.
        key: PEM file with the private key, if it is not in the first one.
        authorities: PEM file of those whom the broker trusts when it asks this registry.
        hosts: further names under which clients address the registry.
    """

    certificate: Path | None = None
    key: Path | None = None
    authorities: Path | None = None
    hosts: tuple[str, ...] = ()

    def arguments_at(self, listen: str | None) -> tuple[str, ...]:
        """Return the arguments of `duolog registry` at an address.

        Raises:
            UsageError: an option is given, and no address.
        """
        if listen is None and self != RegistryTlsOptions():
            raise click.UsageError("Options of the registry's TLS need --registry HOST:PORT.")
        return (
            *(() if self.certificate is None else ("--tls-cert", str(self.certificate))),
            *(() if self.key is None else ("--tls-key", str(self.key))),
            *(word for host in self.hosts for word in ("--allow-host", host)),
        )


def registry_tls_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, passed to it as `registry_tls`."""

    @_option(
        "certificate",
        "--registry-tls-cert",
        "PEM file with the certificate chain of the "
        "registry of --registry, which then speaks HTTPS, and the private key unless "
        "--registry-tls-key is given. It is read again when it changes.",
    )
    @_option("key", "--registry-tls-key", "PEM file with the private key of the registry.")
    @_option(
        "authorities",
        "--registry-ca-file",
        "PEM file with the authorities that have signed "
        "the registry's certificate, which the broker checks. Default: those of the system.",
    )
    @click.option(
        "--registry-allow-host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="Another name under which clients address the registry. Repeatable.",
    )
    @wraps(command)
    def with_tls(
        *arguments: object,
        certificate: Path | None,
        key: Path | None,
        authorities: Path | None,
        hosts: tuple[str, ...],
        **options: object,
    ) -> object:
        if certificate is None and (key is not None or authorities is not None):
            raise click.UsageError(
                "--registry-tls-key and --registry-ca-file need a certificate: "
                "give --registry-tls-cert."
            )
        tls = RegistryTlsOptions(certificate, key, authorities, hosts)
        return command(*arguments, registry_tls=tls, **options)

    return with_tls


def _option(name: str, option: str, text: str) -> Callable[[Command], Command]:
    return click.option(option, name, type=_FILE, metavar="FILE", help=text)
