"""Where Duolog keeps data: by default, and where somebody says so, by a path or by the URL of a Hadoop file system.

Source: the XDG Base Directory Specification.
"""

import os
from collections.abc import Mapping
from pathlib import Path


def default_data_dir(name: str) -> Path:
    """Return `$XDG_DATA_HOME/duolog/<name>`, by default below `~/.local/share`."""
    return data_home() / name


def data_home() -> Path:
    """Return where data go that no directory is named for."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "duolog"


def is_url(data_dir: Path | str) -> bool:
    """Tell whether a data directory is behind an URL.

    Example:
        >>> is_url("hdfs://host:8020/data"), is_url("data")
        (True, False)
    """
    return "://" in str(data_dir)


def data_dir_of(given: Path | str, settings: Mapping[str, str]) -> Path:
    """Return the data directory of an application, by its path or URL; `settings` are those of its engine.

    Raises:
        ConfigError: it is an URL of no directory, or of a file system that is not known to be safe for checkpoints.
    """
    if not is_url(given):
        # The JVM works elsewhere, and a program may change its directory between two starts.
        return Path(given).resolve()
    from duolog.engine.remote import data_dir_at  # noqa: PLC0415 - whoever has a disk needs none of it

    return data_dir_at(str(given), settings)


def local_part_of(data_dir: Path) -> Path:
    """Return where what stays on this machine goes."""
    if not is_url(data_dir):
        return data_dir
    from duolog.engine.remote import local_dir_of  # noqa: PLC0415 - as above

    return local_dir_of(data_dir, data_home())
