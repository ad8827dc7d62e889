"""The files of checkpoints as of one look, to be copied while applications run.

Each file gets a second name in the directory `.backup` of the data directory, as log segments do.
Spark writes each version of a store to new files; those of versions that no micro-batch of the look
has planned are left out, because the restored application computes these versions itself. Spark
removes what is a hundred micro-batches old. So if it has committed that many since the look, or if
a control file has gone, another cut is needed.

Thread: one.
"""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.cli.backup.checkpoint_scan import Scan, is_kept
from duolog.log.backup.copies import Identity
from duolog.log.backup.log_source import STAGING, Moved
from duolog.log.backup.writing import FileSource

_FILES: Final = "files"
_BATCHES_MAX: Final = 50
"""Half of what Spark keeps: after that many, the state of the look is still whole."""
_VERSION: Final = re.compile(r"\.?(\d+)(?:[._].*)?")
_PREPARED: Final = re.compile(r"prepared\.(\d+)")
_START_FILES: Final = ("admin.password", "certificates/*")
"""Made by `duolog start --profile team`, which writes `admin.properties` again: it has paths."""
_UNSUPPORTED: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK, errno.ENOSYS}


def stage_files(root: Path, look: Scan) -> dict[str, FileSource]:
    """Return the files of all checkpoints as they were at a look, by path from `root`.

    Raises:
        Moved: files of the look have gone.
        OSError: the file system refused.
    """
    files = {path: FileSource("", None, content) for path, content in look.marks.items()}
    for path, identity in look.control.items():
        source = _linked(root, path)
        if source is None or source.identity != identity:
            raise Moved(f"{path} has changed")
        files[path] = source
    for stores in look.stores:
        last = _last_planned(look, stores)
        for path in _state_files(root, stores, last + 1):
            source = _linked(root, path)
            if source is not None:
                files[path] = source
        if _last_committed(root, stores) > last + _BATCHES_MAX:
            raise Moved(f"{stores} is too far on")
    return files


def read_start_files(root: Path) -> dict[str, FileSource]:
    """Return the password and the certificates that `duolog start` has made, by path from `root`.

    Raises:
        OSError: the file system refused.
    """
    found = [path for pattern in _START_FILES for path in sorted(root.glob(pattern))]
    return {
        str(path.relative_to(root)): FileSource("", None, path.read_bytes())
        for path in found
        if path.is_file()
    }


def _last_planned(look: Scan, stores: str) -> int:
    """Return the last micro-batch of a Spark checkpoint that was planned or prepared."""
    spark = stores.rpartition("/")[0]
    application = spark.rpartition("/")[0]
    found = [-1]
    for path in look.control:
        parent, _, name = path.rpartition("/")
        if parent == f"{spark}/offsets" and name.isdigit():
            found.append(int(name))
        elif parent == application and (prepared := _PREPARED.fullmatch(name)):
            found.append(int(prepared[1]))
    return max(found)


def _last_committed(root: Path, stores: str) -> int:
    commits = (root / stores).parent / "commits"
    if not commits.is_dir():
        return -1
    return max((int(path.name) for path in commits.iterdir() if path.name.isdigit()), default=-1)


def _state_files(root: Path, stores: str, version_max: int) -> Iterator[str]:
    for directory, _, names in os.walk(root / stores):
        inner = os.path.relpath(directory, root)
        for name in names:
            version = _VERSION.fullmatch(name)
            if is_kept(name) and (version is None or int(version[1]) <= version_max):
                yield f"{inner}/{name}"


def _linked(root: Path, path: str) -> FileSource | None:
    """Return a file under its second name; None if it does not exist any more."""
    place, link = f"{root}/{path}", f"{root}/{STAGING}/{_FILES}/{path}"
    os.makedirs(link.rpartition("/")[0], 0o700, exist_ok=True)  # noqa: PTH103 - as in the log
    try:
        if os.path.lexists(link):
            os.unlink(link)  # noqa: PTH108
        os.link(place, link)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        link = place
    return FileSource(link, Identity.of(link))
