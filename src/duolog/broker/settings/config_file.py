"""A file of broker settings: TOML, or the `server.properties` of Kafka.

    durability = "os"              listeners=PLAINTEXT://127.0.0.1:9092
    [log.segment]                  log.dirs=/var/lib/duolog
    bytes = 1048576                log.segment.bytes=1048576

A file that ends in `.properties` is read as Java reads it. Names of older Kafkas are passed over
with a warning, so that the file of a Kafka broker can be used as it is; any other unknown name is
an error.

Source: `java.util.Properties.load`; Kafka `server.properties`.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from duolog.core.errors import ConfigError
from duolog.core.java_properties import parse_properties
from duolog.core.text_files import read_text_file

DATA_DIRS: Final = ("log.dirs", "log.dir")
OTHER_NAMES: Final = {"broker.id": "node.id"}
"""Names that Kafka had or has for a setting."""

OF_OLDER_KAFKAS: Final = frozenset(
    {
        "zookeeper.connect",
        "zookeeper.connection.timeout.ms",
        "zookeeper.session.timeout.ms",
        "zookeeper.set.acl",
        "zookeeper.max.in.flight.requests",
        "broker.id.generation.enable",
        "reserved.broker.max.id",
        "control.plane.listener.name",
        "inter.broker.protocol.version",
        "log.message.format.version",
        "log.message.downconversion.enable",
        "confluent.support.metrics.enable",
        "confluent.support.customer.id",
    }
)
"""Settings that Kafka 4 has removed: they are ignored, and not reported as configs."""


class ConfigFile(NamedTuple):
    """The contents of a config file or of the command line.

    These are settings, the data directory, and settings of older Kafka versions.
    """

    settings: dict[str, str]
    data_dir: Path | None = None
    passed_over: tuple[str, ...] = ()


def read_config(path: Path) -> ConfigFile:
    """Read a file of settings.

    Raises:
        ConfigError: it cannot be read, or names several data directories.
    """
    try:
        text = read_text_file(path)
        properties = path.suffix == ".properties"
        found = dict(parse_properties(text)) if properties else _flatten(tomllib.loads(text), "")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f'file "{path}" is not TOML',
            detail=str(error),
            hint='Write lines like "a.b" = "c", or name a file of lines a.b=c FILE.properties.',
        ) from error
    return sorted_out(found)


def _flatten(tree: Mapping[str, object], prefix: str) -> dict[str, str]:
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


def sorted_out(found: Mapping[str, str]) -> ConfigFile:
    """Part what Kafka's names say about settings, the data directory and nothing at all.

    Raises:
        ConfigError: several data directories are named.
    """
    settings: dict[str, str] = {}
    passed_over = []
    data_dir: Path | None = None
    for name, value in found.items():
        if name in DATA_DIRS:
            if data_dir is None or name == DATA_DIRS[0]:  # Kafka's order, too.
                data_dir = _one_directory(name, value)
        elif name in OTHER_NAMES:
            settings.setdefault(OTHER_NAMES[name], value)
        elif name in OF_OLDER_KAFKAS:
            passed_over.append(name)
        else:
            settings[name] = value
    return ConfigFile(settings, data_dir, tuple(passed_over))


def _one_directory(name: str, value: str) -> Path:
    directories = [item.strip() for item in value.split(",") if item.strip()]
    if len(directories) != 1:
        raise ConfigError(
            f'setting "{name}" names {len(directories)} directories',
            name=name,
            value=value,
            hint="A broker keeps its log in one.",
        )
    return Path(directories[0])
