"""Options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from duolog.core.errors import ConfigError

OFFSET: Final = click.IntRange(0, 2**63 - 1)
PARTITION: Final = click.IntRange(0, 2**31 - 1)
PARTITIONS: Final = click.IntRange(1, 2**31 - 1)
REPLICATION_FACTOR: Final = click.IntRange(-1, 2**15 - 1)
"""Numbers as Kafka's protocol holds them."""

MODES: Final = ("auto", "micro-batch", "real-time")

Command = TypeVar("Command", bound=Callable[..., object])


class Directory(click.Path):
    """A directory that may have to be made. The empty text names none: not the one we stand in."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, resolve_path=True, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("it is empty: is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)


def mode_option(command: Command) -> Command:
    """Add `--mode` to a command that runs a topology."""
    return click.option(
        "--mode",
        type=click.Choice(MODES),
        default="auto",
        show_default=True,
        help="auto catches up in micro-batches, then goes live in real time; real-time reads only "
        "what the start finds before it does.",
    )(command)


def data_option(help_text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--data DIR`.

    The path is resolved here, once: what is started later may stand in another directory.
    """
    return click.option(
        "--data",
        "data_dir",
        type=Directory(),
        help=help_text,
    )


def set_option(help_text: str, *other_names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--set NAME=VALUE`, which may be given several times."""
    return click.option(
        "--set", *other_names, "assignments", multiple=True, metavar="NAME=VALUE", help=help_text
    )


def read_assignment(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`.

    Example:
        >>> read_assignment("durability=os")
        ('durability', 'os')

    Raises:
        ConfigError: there is no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f'"{text}" is not a setting', value=text, hint="Write it as NAME=VALUE.")
    return name.strip(), value.strip()


def read_assignments(texts: tuple[str, ...]) -> dict[str, str]:
    """Read several of them; the last of a name wins."""
    return dict(read_assignment(text) for text in texts)
