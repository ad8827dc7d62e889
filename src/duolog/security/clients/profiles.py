"""Read the connection settings of a cluster: from a file, a profile or the environment.

    --client-properties FILE     Java's form, as for Kafka's tools; over the profile
    --profile NAME               a table of ~/.config/duolog/profiles.toml
    DUOLOG_CLIENT_PROPERTIES     a file, if neither is given
    DUOLOG_PROFILE               a profile, if neither is given

    [production]
    "bootstrap.servers" = "kafka.example:9093"
    "client.properties" = "production.properties"

Relative paths are relative to the file that has them. A file with a secret that other users can
read is reported in a warning.

Source: `java.util.Properties`; the XDG Base Directory Specification.
"""

import logging
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError, EncodingError
from duolog.core.java_properties import parse_properties
from duolog.core.text_files import read_text_file
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from duolog.security.clients.properties import SECRET_NAMES, split_properties

logger: Final = logging.getLogger(__name__)

PROPERTIES_VARIABLE: Final = "DUOLOG_CLIENT_PROPERTIES"
PROFILE_VARIABLE: Final = "DUOLOG_PROFILE"
_SERVERS: Final = "bootstrap.servers"
_FILE: Final = "client.properties"
SHARED: Final = frozenset(
    {
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "socket.connection.setup.timeout.ms",
    }
)
"""Other properties that librdkafka and Java's clients both have, with one meaning."""

Given = Path | str | Mapping[str, str] | None
"""Properties: a file or a mapping; None for those of the environment."""


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """The connection settings of a cluster; `servers` is empty if they name no broker."""

    servers: str = ""
    security: ClientSecurity | None = None
    others: Mapping[str, str] = field(default_factory=dict, repr=False)

    def brokers(self, servers: str = "") -> Brokers:
        """Return the brokers at `servers`, by default at those of the profile.

        Raises:
            ConfigError: an address is invalid, or there is none.
        """
        whole = Brokers.of(servers or self.servers).servers
        return Brokers(whole, self.security, tuple(self.others.items()))

    def ensure_shared(self) -> "ClientProfile":
        """Return itself if all other properties mean the same to every client of an application.

        Raises:
            ConfigError: one does not.
        """
        if unknown := sorted(self.others.keys() - SHARED):
            raise ConfigError(
                f'client property "{unknown[0]}" is not a setting of connections',
                name=unknown[0],
                detail="Applications and SQL take security settings and "
                f"{', '.join(sorted(SHARED))} from client properties.",
                hint="Remove it, or use a file of its own for this cluster's applications.",
            )
        return self


def client_profile(
    given: Given = None, profile: str | None = None, more: Mapping[str, str] | None = None
) -> ClientProfile:
    """Return the connection settings: of `profile`, overridden by `given`, and that by `more`.

    If `given` and `profile` are None, they are the environment's. An empty mapping means none.

    Raises:
        ConfigError: a file or a profile cannot be read, or a property is refused.
    """
    if given is None and profile is None:
        given = os.environ.get(PROPERTIES_VARIABLE) or None
        profile = os.environ.get(PROFILE_VARIABLE) or None
    found: dict[str, str] = {}
    origins, base = [], Path()
    if profile is not None:
        file = profiles_file()
        found |= _properties_of_profile(file, profile)
        origins.append(f'profile "{profile}" of {file}')
        base = file.parent
    if isinstance(given, Mapping):
        found |= given
    elif given is not None:
        path = Path(given).expanduser()
        found |= _absolute(read_properties(path), path.parent)
        origins.append(str(path))
    found |= more or {}
    return _profile_of(found, " and ".join(origins), base)


def brokers_of(servers: Brokers | str, given: Given = None, profile: str | None = None) -> Brokers:
    """Return the brokers at `servers` with the settings that `client_profile` finds.

    `Brokers` are returned as they are.

    Raises:
        ConfigError: as `client_profile` and `ClientProfile.ensure_shared`.
    """
    if isinstance(servers, Brokers):
        return servers
    return client_profile(given, profile).ensure_shared().brokers(servers)


def _profile_of(found: Mapping[str, str], origin: str, base: Path) -> ClientProfile:
    security, others = split_properties(found, origin, base)
    return ClientProfile(others.pop(_SERVERS, ""), security, others)


def profiles_file() -> Path:
    """Return the path of the profiles: `$XDG_CONFIG_HOME/duolog/profiles.toml`."""
    home = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return base / "duolog" / "profiles.toml"


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties of a file in Java's form.

    Raises:
        ConfigError: it cannot be read. The error does not repeat its contents.
    """
    found = dict(parse_properties(_text_of(path, "client properties")))
    _warn_if_exposed(path, found)
    return found


def _properties_of_profile(file: Path, name: str) -> dict[str, str]:
    try:
        tables = tomllib.loads(_text_of(file, "profiles"))
    except tomllib.TOMLDecodeError:
        # Its message may repeat a part of the line.
        raise ConfigError(
            f'file "{file}" is not TOML',
            hint='Write [NAME], then lines like "sasl.mechanism" = "SCRAM-SHA-512".',
        ) from None
    table = tables.get(name)
    if not isinstance(table, dict):
        near = get_close_matches(name, tables, n=1)
        raise ConfigError(
            f'profile "{name}" is not in {file}',
            name="profile",
            value=name,
            detail=f"It has {', '.join(sorted(tables)) or 'no profiles'}.",
            hint=f'Did you mean "{near[0]}"?' if near else f"Add a table [{name}] to the file.",
        )
    flat = _flat(table, "")
    _warn_if_exposed(file, flat)
    properties = flat.pop(_FILE, None)
    own = _absolute(flat, file.parent)
    if properties is None:
        return own
    path = file.parent / Path(properties).expanduser()
    return _absolute(read_properties(path), path.parent) | own


def _flat(table: Mapping[str, object], prefix: str) -> dict[str, str]:
    """Return a table's values by dotted names, quoted or not."""
    found: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _absolute(properties: dict[str, str], base: Path) -> dict[str, str]:
    """Make paths absolute: several files may contribute, each with its own directory."""
    return {
        name: str(base / Path(value.strip()).expanduser()) if name.endswith(".location") else value
        for name, value in properties.items()
    }


def _text_of(path: Path, what: str) -> str:
    try:
        return read_text_file(path)
    except OSError as error:
        raise ConfigError(
            f'file "{path}" of {what} cannot be read', value=str(path), detail=f"{error.strerror}."
        ) from error
    except EncodingError:
        # That error repeats the line.
        raise ConfigError(f'file "{path}" of {what} is not UTF-8', value=str(path)) from None


def _warn_if_exposed(path: Path, properties: Mapping[str, str]) -> None:
    if os.name == "posix" and SECRET_NAMES & properties.keys():
        mode = path.stat().st_mode
        if mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
            logger.warning("other users can read the secrets in %s; run chmod 600 on it", path)
