"""Options that name a schema registry and its user.

The password comes from a file or the environment: a word of the command line is visible to every
user of the machine. A user in the URL takes precedence.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from threading import Timer
from typing import Final

import click

from duolog.cli.terminal.logging_setup import emit
from duolog.core.errors import ConfigError
from duolog.registry.client import HttpRegistry
from duolog.registry.client.admin import EXTENDED, RegistryAdmin
from duolog.registry.client.requests import (
    AUTHORITIES_VARIABLE,
    TOKEN_VARIABLE,
    Address,
    Answer,
    Requests,
    addresses_of,
    send,
)

DEFAULT_URL: Final = "http://127.0.0.1:8081"
URL_VARIABLE: Final = "DUOLOG_REGISTRY"
SQL_URL: Final = "ksql.schema.registry.url"
SQL_USER: Final = "ksql.schema.registry.basic.auth.user.info"
_ANSWER_S: Final = 5.0
_ROUNDS: Final = 2
"""A command gives up after ten seconds."""
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_SILENCE_S: Final = 2.0
_COMPLETION_S: Final = 1.0
_HINT: Final = (
    "Start one with `duolog registry` or `duolog broker --registry HOST:PORT`, or name another "
    "with --registry."
)


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """The addresses of a registry and its user."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    authorities: Path | None = None

    def admin(self) -> RegistryAdmin:
        """Return a client for lists, deletions and settings.

        Raises:
            ConfigError: the URL is invalid.
        """
        return RegistryAdmin(self._requests())

    def source(self) -> HttpRegistry:
        """Return a client that keeps the schemas that it has read; raises as `admin`."""
        return HttpRegistry("", self._requests())

    def for_completion(self) -> RegistryAdmin:
        """Return a client that does not let a user wait at the shell; raises as `admin`."""
        once = partial(send, timeout_s=_COMPLETION_S, more=EXTENDED)
        return RegistryAdmin(Requests(self._addresses(), once, rounds=1))

    @property
    def shown(self) -> str:
        """The addresses without users and passwords; raises as `admin`."""
        return ", ".join(address.shown for address in self._addresses())

    def _requests(self) -> Requests:
        return Requests(self._addresses(), _send, hint=_HINT, rounds=_ROUNDS)

    def _addresses(self) -> tuple[Address, ...]:
        found = addresses_of(with_scheme(self.url))
        found = tuple(replace(one, authorities=self.authorities) for one in found)
        if self.token:
            return tuple(one if one.user else replace(one, token=self.token) for one in found)
        if not self.user:
            return found
        user = f"{self.user}:{self.password}"
        return tuple(one if one.user else replace(one, user=user) for one in found)


def _send(address: Address, method: str, path: str, body: str | None) -> Answer:
    """Send a request; report a missing answer after two seconds."""
    waiting = Timer(_SILENCE_S, emit, [f"waiting for an answer from {address.shown} …"])
    waiting.daemon = True
    waiting.start()
    try:
        return send(address, method, path, body, timeout_s=_ANSWER_S, more=EXTENDED)
    finally:
        waiting.cancel()


def registry_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--registry` and the options of its user to a command, passed to it as `registry`."""
    return _options(DEFAULT_URL, "The schema registry.")(command)


def maybe_registry_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the same options to a command that works without a registry.

    The command receives an address without a URL if no registry is named: see `found_registry`.
    """
    return _options(
        None,
        f"The schema registry that decodes and encodes records.  [default: {DEFAULT_URL}, if the "
        "broker is on this machine]",
    )(command)


def sql_registry_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the same options to a command that passes them to an SQL engine; see `sql_properties`."""
    return _options(None, "The schema registry; sets ksql.schema.registry.url.")(command)


def sql_properties(registry: RegistryAddress, given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of an SQL engine with those of a registry; `given` ones win.

    Example:
        >>> sql_properties(RegistryAddress("a:8081", "ann", "secret"), {})
        {'ksql.schema.registry.url': 'http://a:8081', \
'ksql.schema.registry.basic.auth.user.info': 'ann:secret'}
    """
    if not registry.url or SQL_URL in given:
        return dict(given)
    user = {SQL_USER: f"{registry.user}:{registry.password}"} if registry.user else {}
    return {SQL_URL: with_scheme(registry.url), **user, **given}


def pass_on(registry: RegistryAddress) -> None:
    """Set the variables in which this process and its JVM look for a token and authorities."""
    if registry.token:
        os.environ[TOKEN_VARIABLE] = registry.token
    if registry.authorities is not None:
        os.environ[AUTHORITIES_VARIABLE] = str(registry.authorities.resolve())


def with_scheme(addresses: str) -> str:
    """Return addresses, separated by commas, with http:// in front of those without a scheme."""
    parts = (part.strip() for part in addresses.split(","))
    return ",".join(part if "://" in part else f"http://{part}" for part in parts if part)


def found_registry(named: RegistryAddress, bootstrap_servers: str) -> RegistryAddress | None:
    """Return the registry that is named, or the default one for a broker on this machine.

    Another broker has no default: the ids of a registry on this machine mean other schemas there.
    """
    if named.url:
        return named
    hosts = [server.rpartition(":")[0].strip("[]") for server in bootstrap_servers.split(",")]
    return replace(named, url=DEFAULT_URL) if set(hosts) <= _THIS_MACHINE else None


def _options(
    default: str | None, help_text: str
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    def decorate(command: Callable[..., object]) -> Callable[..., object]:
        @click.option(
            "-r",
            "--registry",
            "registry_url",
            envvar=URL_VARIABLE,
            default=default,
            show_default=default is not None,
            show_envvar=True,
            metavar="URL,…",
            help=help_text,
        )
        @_credential_options
        @wraps(command)
        def with_registry(
            *args: object,
            registry_url: str | None,
            registry_user: str | None,
            password_file: Path | None,
            token_file: Path | None,
            authorities: Path | None,
            **options: object,
        ) -> object:
            url = "" if registry_url is None else _whole(registry_url)
            if registry_user and token_file is not None:
                raise click.UsageError("Use either --registry-user or --registry-token-file.")
            registry = RegistryAddress(
                url,
                registry_user or "",
                _password(password_file),
                _first_line(token_file, "token"),
                authorities,
            )
            return command(*args, registry=registry, **options)

        return with_registry

    return decorate


def _file_option(
    flag: str, name: str, explanation: str
) -> "Callable[[Callable[..., object]], Callable[..., object]]":
    """Return an option for a file; its variable is named after the flag."""
    return click.option(
        flag,
        name,
        envvar=f"DUOLOG_{flag.removeprefix('--').replace('-', '_').upper()}",
        show_envvar=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help=explanation,
    )


def _credential_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of the user and of TLS."""
    options = (
        click.option(
            "--registry-user",
            envvar="DUOLOG_REGISTRY_USER",
            show_envvar=True,
            metavar="NAME",
            help="User of the registry. The password is in --registry-password-file or in "
            "DUOLOG_REGISTRY_PASSWORD.",
        ),
        _file_option(
            "--registry-password-file",
            "password_file",
            "File with the password in its first line.",
        ),
        _file_option(
            "--registry-token-file",
            "token_file",
            "File with a bearer token in its first line, in place of a user.",
        ),
        _file_option(
            "--registry-ca-file",
            "authorities",
            "PEM file of the authorities that verify an https registry.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _whole(url: str) -> str:
    if not url.strip():
        raise click.BadParameter("it is empty; write for example --registry http://127.0.0.1:8081")
    return url


def _password(file: Path | None) -> str:
    if file is None:
        return os.environ.get("DUOLOG_REGISTRY_PASSWORD", "")
    return _first_line(file, "password")


def _first_line(file: Path | None, what: str) -> str:
    if file is None:
        return ""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f'the {what} file "{file}" is not UTF-8') from error
    return lines[0] if lines else ""
