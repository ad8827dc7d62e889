"""Directories for data: the default ones, paths, and URLs of Hadoop file systems.

Source: the XDG Base Directory Specification.
"""

import os
from collections.abc import Mapping
from pathlib import Path


def default_data_dir(name: str) -> Path:
    """Return `$XDG_DATA_HOME/duolog/<name>`, by default below `~/.local/share`."""
    return data_home() / name


def data_home() -> Path:
    """Return the base directory for data without an explicit directory."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "duolog"


def is_url(data_dir: Path | str) -> bool:
    """Return true if a data directory is given as a URL.

    Example:
        >>> is_url("hdfs://host:8020/data"), is_url("data")
        (True, False)
    """
    return "://" in str(data_dir)


def data_dir_of(given: Path | str, settings: Mapping[str, str]) -> Path:
    """Return the data directory of an application; `settings` are those of its engine.

    Raises:
        ConfigError: the URL is not a directory, or its file system is not known to be safe for
            checkpoints.
    """
    if not is_url(given):
        # The JVM has another working directory, and a program may change its own between two
        # starts.
        return Path(given).resolve()
    from duolog.engine.checkpoint.remote import data_dir_at  # noqa: PLC0415 - not needed for local directories

    return data_dir_at(str(given), settings)


def local_part_of(data_dir: Path) -> Path:
    """Return the directory for files that stay on this machine."""
    if not is_url(data_dir):
        return data_dir
    from duolog.engine.checkpoint.remote import local_dir_of  # noqa: PLC0415 - as above

    return local_dir_of(data_dir, data_home())
