"""Ask a SQL server, named by `--server`, as the user of its options.

Passwords and tokens come from files or the environment: a word of the command line is visible to
every user of the machine.
"""

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import click

from duolog.core.errors import ConfigError, DuologError, QueryError
from duolog.runtime.errors import ServerUnavailable

if TYPE_CHECKING:
    import httpx2

    from duolog.client.transport import Address

DEFAULT_URL: Final = "http://127.0.0.1:8088"
PASSWORD_VARIABLE: Final = "DUOLOG_SERVER_PASSWORD"  # noqa: S105 - a name
_TIMEOUT_S: Final = 15.0
_NOT_FOUND: Final = 404
_UNAUTHORIZED: Final = 401
_LOGIN_HINT: Final = (
    "Give a user: --server-user with --server-password-file, or --server-token-file."
)
_OK: Final = 200

Command = Callable[..., object]


class SqlServer:
    """A connection to one server; a context manager."""

    def __init__(self, address: "Address") -> None:
        self.address = address
        self._client: httpx2.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def get(self, path: str, name: str = "", **parameters: str) -> Any:
        """Return the JSON at a path, with a name at its end.

        Raises:
            ServerUnavailable: there is no answer.
            QueryError: the server does not know the name.
            ServerError: it refuses the request.
        """
        # Imported late to keep `--help` fast.
        import httpx2  # noqa: PLC0415

        from duolog.client.errors import InterfaceError  # noqa: PLC0415
        from duolog.client.requests import refused  # noqa: PLC0415
        from duolog.client.transport import is_untrusted, open_client  # noqa: PLC0415

        if self._client is None:
            self._client = open_client(self.address)
        target = f"{path}/{quote(name, safe='')}" if name else path
        try:
            answer = self._client.get(target, params=parameters)
        except httpx2.HTTPError as error:
            raise ServerUnavailable(
                f"no answer from {self.address.url}",
                detail=f"{error or type(error).__name__}".rstrip(".") + ".",
                hint="Name the authority of its certificate with --server-ca-file."
                if is_untrusted(error)
                else "Start one with `duolog server`, or name another with --server.",
            ) from error
        if answer.status_code == _NOT_FOUND and name:
            raise QueryError(
                f'the server does not know "{name}"',
                query_id=name,
                hint="List all with the same command without a name. You only see what you may "
                "DESCRIBE.",
            )
        if answer.status_code != _OK:
            refusal = refused(answer.status_code, answer.content)
            if answer.status_code == _UNAUTHORIZED and isinstance(refusal, DuologError):
                refusal.hint = _LOGIN_HINT
            raise refusal
        try:
            return json.loads(answer.content)
        except ValueError as error:
            raise InterfaceError(
                f"the answer of {self.address.url} is not JSON",
                hint="Check that it is the address of a SQL server.",
            ) from error


def server_options(command: Command) -> Command:
    """Add `--server` and the options of its user to a command, passed to it as `server`."""

    @click.option(
        "--server",
        "url",
        envvar="DUOLOG_SERVER",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        metavar="URL",
        help="The SQL server.",
    )
    @click.option("--server-user", "user", envvar="DUOLOG_SERVER_USER", help="Name of a user.")
    @_file("--server-password-file", "password_file", "File whose first line is the password.")
    @_file("--server-token-file", "token_file", "File whose first line is a bearer token.")
    @_file("--server-ca-file", "authorities", "PEM file of the authorities to trust for https.")
    @wraps(command)
    def with_server(
        *args: object,
        url: str,
        user: str | None,
        password_file: Path | None,
        token_file: Path | None,
        authorities: Path | None,
        **options: object,
    ) -> object:
        from duolog.client.transport import Address  # noqa: PLC0415 - as above

        password = _first_line(password_file, "password") if password_file else ""
        address = Address(
            url if "://" in url else f"http://{url}",
            user=user or "",
            password=password or (os.environ.get(PASSWORD_VARIABLE, "") if user else ""),
            token=_first_line(token_file, "token") if token_file else "",
            authorities=authorities,
            timeout_s=_TIMEOUT_S,
        )
        with SqlServer(address) as server:
            return command(*args, server=server, **options)

    return with_server


def _file(flag: str, name: str, explanation: str) -> Callable[[Command], Command]:
    return click.option(
        flag,
        name,
        envvar=f"DUOLOG_{flag.removeprefix('--').replace('-', '_').upper()}",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help=explanation,
    )


def _first_line(file: Path, what: str) -> str:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f'the {what} file "{file}" is not UTF-8') from error
    return lines[0] if lines else ""
