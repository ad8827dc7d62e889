"""`duolog broker`: the broker in this process, until it is told to stop."""

import os
import signal
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Final

import click

from duolog.cli.options import read_assignments, set_option
from duolog.core.errors import ConfigError

STOP_GRACE_S: Final = 15.0


@click.command(epilog="Settings are described in docs/reference/config.md.")
@click.option(
    "--data",
    "data_dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the log; made if missing.",
)
@click.option(
    "--listen",
    multiple=True,
    metavar="[NAME://]HOST:PORT",
    help="Where to take connections, 127.0.0.1:9092 by default; port 0 takes a free one. May be "
    "given several times.",
)
@click.option(
    "--advertise",
    multiple=True,
    metavar="[NAME://]HOST:PORT",
    help="What clients are told to connect to; by default the address of --listen, one for one.",
)
@set_option("A broker setting; may be given several times.")
@click.option(
    "--config",
    "config_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with broker settings; --set wins over it.",
)
@click.option("--stop-with-stdin", is_flag=True, hidden=True)
def broker(
    *,
    data_dir: Path,
    listen: tuple[str, ...],
    advertise: tuple[str, ...],
    assignments: tuple[str, ...],
    config_path: Path | None,
    stop_with_stdin: bool,
) -> int:
    """Run a broker that Kafka clients talk to.

    Prints `duolog broker ready on HOST:PORT` when it takes connections. Ctrl-C or SIGTERM stops it.

    \b
    Examples:
      duolog broker --data ./data
      duolog broker --data ./data --listen 127.0.0.1:0 --set durability=os
    """
    # Loaded here: `duolog broker --help` needs none of it.
    from duolog.broker.process import BrokerOptions, run  # noqa: PLC0415

    settings = read_config(config_path) if config_path else {}
    settings |= read_assignments(assignments)
    if stop_with_stdin:
        threading.Thread(target=_stop_with_stdin, name="stdin-watch", daemon=True).start()
    return run(
        BrokerOptions(data_dir=data_dir, listen=listen, advertise=advertise, settings=settings)
    )


def read_config(path: Path) -> dict[str, str]:
    """Return the settings of a TOML file as texts; `[log]` and `segment.bytes` join by a dot.

    Raises:
        ConfigError: the file is not TOML.
    """
    try:
        tree = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f'file "{path}" is not TOML', detail=str(error), hint='Write lines like "a.b" = "c".'
        ) from error
    return _flatten(tree, "")


def _flatten(tree: dict[str, object], prefix: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, value in tree.items():
        match value:
            case dict():
                settings |= _flatten(value, f"{prefix}{name}.")
            case bool():
                settings[prefix + name] = "true" if value else "false"
            case list():
                settings[prefix + name] = ",".join(map(str, value))
            case _:
                settings[prefix + name] = str(value)
    return settings


def _stop_with_stdin() -> None:
    """Stop this process when its standard input ends: whoever started it is gone."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_GRACE_S)
    # Nobody is left who could end a broker that does not stop.
    os._exit(1)
