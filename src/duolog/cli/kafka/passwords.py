"""Ask for a new password, or read it from a file: it never is an argument.

The arguments of a program are visible to all users of the machine.
"""

import getpass
import os
import stat
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import PASSWORD_CHARACTERS_MIN

_STDIN: Final = "-"

Command = TypeVar("Command", bound=Callable[..., object])


def password_option(command: Command) -> Command:
    """Add `--password-file`, passed to the command as `password_file`."""
    return click.option(
        "--password-file",
        metavar="FILE",
        help="File with the password on its only line, - for standard input. Without it, the "
        "command asks.",
    )(command)


def _asked() -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            asked: str = click.prompt(
                "Password", hide_input=True, confirmation_prompt=True, err=True
            )
    except getpass.GetPassWarning:
        raise ConfigError(
            "there is no terminal to ask for the password",
            name="--password-file",
            hint="Give --password-file FILE, or --password-file - to read standard input.",
        ) from None
    return asked


def _warn_if_exposed(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        click.echo(f"other users can use the password in {path}; run chmod 600 on it", err=True)


def new_password(password_file: str | None) -> str:
    """Return the password in a file, or ask twice for one.

    Raises:
        ConfigError: the file cannot be read, there is no terminal to ask, or the password is too
            short.
    """
    if password_file is None:
        text = _asked()
    elif password_file == _STDIN:
        text = sys.stdin.readline().rstrip("\r\n")
    else:
        try:
            text = Path(password_file).read_text("utf-8").removesuffix("\n").removesuffix("\r")
            _warn_if_exposed(Path(password_file))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f'file "{password_file}" with the password cannot be read',
                name="--password-file",
                detail=getattr(error, "strerror", None) or type(error).__name__,
                hint="Check the path; write the password to the file with umask 077.",
            ) from None
    if len(text) < PASSWORD_CHARACTERS_MIN or not text.isprintable():
        raise ConfigError(
            "the password is too short, or has characters that cannot be printed",
            name="--password-file",
            hint=f"Use one line of at least {PASSWORD_CHARACTERS_MIN} characters.",
        )
    return text
