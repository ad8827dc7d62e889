"""Options that several commands share."""

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from duolog.cli.terminal.command_again import remember
from duolog.cli.terminal.logging_setup import emit
from duolog.core.errors import ConfigError
from duolog.runtime.data_dirs import is_url

OFFSET: Final = click.IntRange(0, 2**63 - 1)
PARTITION: Final = click.IntRange(0, 2**31 - 1)
PARTITIONS: Final = click.IntRange(1, 2**31 - 1)
REPLICATION_FACTOR: Final = click.IntRange(-1, 2**15 - 1)
"""Ranges of the integer types in Kafka's protocol."""

STOP_GRACE_S: Final = 15.0

MODES: Final = ("auto", "micro-batch", "real-time")

Command = TypeVar("Command", bound=Callable[..., object])


class Directory(click.Path):
    """A directory, which need not exist. An empty value is an error, not the working directory.

    Args:
        urls: whether to accept the URL of a Hadoop file system.
    """

    def __init__(self, *, urls: bool = False) -> None:
        self._urls = urls
        super().__init__(file_okay=False, resolve_path=True, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("it is empty; check that the shell variable is set", param, ctx)
        if is_url(str(value)):
            return self._at(str(value), param, ctx)
        return super().convert(value, param, ctx)

    def _at(self, url: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not self._urls:
            self.fail(
                f'"{url}" is a URL; this command needs a local directory',
                param,
                ctx,
            )
        from duolog.engine.checkpoint.remote import directory_at  # noqa: PLC0415 - not needed for local directories

        return directory_at(url)


def mode_option(command: Command) -> Command:
    """Add `--mode` to a command that runs a topology."""
    return click.option(
        "--mode",
        type=click.Choice(MODES),
        default="auto",
        show_default=True,
        help="auto: catch up in micro-batches, then switch to real time. real-time: use "
        "micro-batches only for the records that exist at the start.",
    )(command)


def functions_option(command: Command) -> Command:
    """Add the repeatable option `--functions MODULE`."""
    return click.option(
        "--functions",
        "functions",
        multiple=True,
        envvar="DUOLOG_FUNCTIONS",
        show_envvar=True,
        metavar="MODULE",
        help="A Python module or file with functions (@duolog.udf, udaf, udtf) for "
        "SQL. Repeatable.",
    )(command)


def data_option(help_text: str, *, urls: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds `--data DIR`; with `urls`, DIR can be a Hadoop URL.

    The path is resolved once, here, because child processes may have another working directory.
    """
    return click.option(
        "--data",
        "data_dir",
        type=Directory(urls=urls),
        help=help_text,
    )


def set_option(help_text: str, *other_names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the repeatable option `--set NAME=VALUE`."""
    return click.option(
        "--set", *other_names, "assignments", multiple=True, metavar="NAME=VALUE", help=help_text
    )


def engine_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--set` for engine settings, and its short forms `--master` and `--spark-conf`."""

    @functools.wraps(command)
    def with_all(
        *,
        master: str | None,
        spark_conf: tuple[str, ...],
        assignments: tuple[str, ...],
        **rest: object,
    ) -> object:
        short = (f"master={master}",) if master is not None else ()
        for text in spark_conf:
            if not text.startswith("spark."):
                raise click.UsageError(f'--spark-conf {text}: the name must start with "spark."')
        return command(assignments=(*assignments, *short, *spark_conf), **rest)

    for decorate in (
        click.option(
            "--spark-conf",
            multiple=True,
            metavar="spark.NAME=VALUE",
            help="A Spark setting. Repeatable.",
        ),
        click.option(
            "--master",
            metavar="URL",
            # No `envvar`: the engine reads the variable itself if the option is not given.
            help="Spark cluster to run on: spark://HOST:PORT, yarn or k8s://…  [env var: "
            "DUOLOG_MASTER; default: this process]",
        ),
        set_option("An engine setting. Repeatable."),
    ):
        decorate(with_all)
    return with_all


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
    """Read several `NAME=VALUE`; the last value of a name wins."""
    return dict(read_assignment(text) for text in texts)


def metrics_option(command: Command) -> Command:
    """Add `--metrics HOST:PORT`, which serves metrics until the command ends."""
    return click.option(
        "--metrics",
        metavar="HOST:PORT",
        expose_value=False,
        callback=_serve_metrics,
        help="Serve /metrics (Prometheus), /health and /ready on this loopback address.",
    )(command)


def _serve_metrics(context: click.Context, param: click.Parameter, address: str | None) -> None:
    remember(context, param, address)
    if address is None or context.resilient_parsing:
        return
    from duolog.runtime.metrics.endpoint import serve_metrics  # noqa: PLC0415 - imports an HTTP server

    endpoint = serve_metrics(address)
    context.call_on_close(endpoint.close)
    emit(f"metrics on http://{endpoint.address}/metrics")


def stop_with_stdin_option(command: Command) -> Command:
    """Add the hidden flag `--stop-with-stdin`: stop when the parent process has exited."""
    return click.option(
        "--stop-with-stdin",
        is_flag=True,
        hidden=True,
        expose_value=False,
        callback=_watch_stdin,
    )(command)


def _watch_stdin(_context: click.Context, _param: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click's callback
    if given:
        threading.Thread(target=_stop_with_stdin, name="stdin-watch", daemon=True).start()


def _stop_with_stdin() -> None:
    """Stop this process when its standard input ends, because its parent has exited."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_GRACE_S)
    # No parent is left to kill a server that does not stop.
    os._exit(1)
