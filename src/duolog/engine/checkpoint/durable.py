"""Small files beside Spark's checkpoint, written so that a power cut leaves the old one or the new."""

import contextlib
import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.remote.paths import RemotePath

_ARRIVING: Final = ".arriving"
_LEFT_OVER_S: Final = 60.0


def write_durably(path: Path, text: str) -> None:
    """Put `text` into a file; return once it and its name are on disk. An OSError names `path`."""
    if isinstance(path, RemotePath):
        return path.replace_text(text)
    # A name of its own: of another thread, or of a process with this pid in another container.
    arriving = path.with_name(f".{path.name}.{uuid.uuid4().hex}{_ARRIVING}")
    try:
        with arriving.open("x") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        arriving.replace(path)
        sync_dir(path.parent)
    except OSError as error:
        # The system names the file that nobody has asked for, or none: a full disk is reported by write().
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(
            OSError
        ):  # On a read-only file system even the absent file cannot be removed.
            arriving.unlink()
    return None


def sweep_unfinished(directory: Path, *, like: Path) -> None:
    """Remove what writers left that were killed a while before `like` was written.

    Times are compared with each other and not with a clock: the directory may be on another host.
    """
    before = like.stat().st_mtime - _LEFT_OVER_S
    for path in directory.glob(f".*{_ARRIVING}"):
        with contextlib.suppress(FileNotFoundError):  # Its writer is alive, or another one sweeps.
            if path.stat().st_mtime < before:
                path.unlink()


def make_durable_dir(directory: Path) -> None:
    """Make a directory and those above it; return once their names are on disk."""
    if isinstance(directory, RemotePath):
        return directory.mkdir(parents=True, exist_ok=True)
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_dir(path.parent)
    return None


def remove_tree(directory: Path) -> None:
    """Remove a directory with all that is in it, as far as that can be: what is left means nothing to anybody."""
    if isinstance(directory, RemotePath):
        with contextlib.suppress(OSError):
            directory.remove_tree()
    else:
        shutil.rmtree(directory, ignore_errors=True)


def sync_dir(directory: Path) -> None:
    """Return once the names in a directory are on disk; behind an URL they are."""
    if isinstance(directory, RemotePath):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
