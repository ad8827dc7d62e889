"""Decide which file systems may have a checkpoint, and which files of an application stay local.

    file:///data                    a local directory, as if given by its path
    hdfs://host:8020/data           rename and create are atomic: one owner, and each entry once
    viewfs://name/data              the same, if the mounted file system is HDFS
    abfss://… s3a://… gs://…        refused, unless the setting `checkpoint.stores` names it: some
                                    of them rename by copying files one by one, so two owners
                                    may write an entry, or a reader may see half of one

The guarantees of an owner (`checkpoint.owner`) and of Spark's logs rest on two calls: a rename and
a create that never overwrite. Source: Hadoop's "Introduction to the Hadoop Filesystem API", on
atomicity; Spark's `CheckpointFileManager`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint.remote.paths import RemotePath, use

SAFE: Final = frozenset({"hdfs", "viewfs"})
STORES_SETTING: Final = "checkpoint.stores"
_ODD: Final = re.compile(r"[^A-Za-z0-9.-]+")


def directory_at(url: str) -> Path:
    """Return the directory that `url` names, without checking that it exists.

    Example:
        >>> directory_at("hdfs://host:8020/a/b/") / "checkpoints"
        RemotePath('hdfs://host:8020/a/b/checkpoints')
        >>> directory_at("file:///srv/data")
        PosixPath('/srv/data')

    Raises:
        ConfigError: the URL names no directory.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return Path(unquote(parts.path)).resolve()
    if not parts.netloc or scheme == "file" or parts.query or parts.fragment:
        raise ConfigError(
            f'data directory "{url}" names no directory on a file system',
            name="data_dir",
            value=url,
            hint="Write it as hdfs://HOST:PORT/PATH, or with a nameservice instead of host and "
            "port.",
        )
    return RemotePath(f"{scheme}://{parts.netloc}{parts.path}")


def data_dir_at(url: str, settings: Mapping[str, str]) -> Path:
    """Return the directory that `url` names, for an application with these engine settings.

    Raises:
        ConfigError: the URL names no directory, or its file system is not known to be safe for
            checkpoints.
    """
    directory = directory_at(url)
    if not isinstance(directory, RemotePath):
        return directory
    scheme = directory.system.partition(":")[0]
    also = {name.strip() for name in settings.get(STORES_SETTING, "").split(",")}
    if scheme not in SAFE | also:
        raise ConfigError(
            f'data directory "{url}" is on a file system that is not known to be safe for '
            "checkpoints",
            name="data_dir",
            value=url,
            detail=f"On {' and '.join(sorted(SAFE))} renaming and creating a file are atomic, and "
            f"never overwrite; for {scheme} this is unknown. Without it two processes may own one "
            "checkpoint, and results may be lost or duplicated.",
            hint="Use hdfs or a local directory. If your store guarantees both, set "
            f"{STORES_SETTING}={scheme}.",
        )
    use(directory, {name: of for name, of in settings.items() if name.startswith("spark.")})
    return directory


def local_dir_of(data_dir: Path, home: Path) -> Path:
    """Return the directory for files that stay local, such as logs.

    If the data directory is at a URL, it is below `home`.

    Example:
        >>> local_dir_of(directory_at("hdfs://host:8020/a"), Path("/home"))
        PosixPath('/home/remote/hdfs-host-8020-a')
    """
    if not isinstance(data_dir, RemotePath):
        return data_dir
    return home / "remote" / _ODD.sub("-", str(data_dir))
