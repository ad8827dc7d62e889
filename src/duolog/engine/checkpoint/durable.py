"""Durable small files: a power cut leaves the old or the new content."""

import contextlib
import shutil
import uuid
from pathlib import Path
from typing import Final

from duolog.core.operating_system.files import sync, sync_directory
from duolog.engine.checkpoint.remote.paths import RemotePath

_ARRIVING: Final = ".arriving"
_LEFT_OVER_S: Final = 60.0


def write_durably(path: Path, text: str) -> None:
    """Write `text` to a file; return once content and name are on disk. An OSError names `path`."""
    if isinstance(path, RemotePath):
        return path.replace_text(text)
    # A unique name, also among threads and among processes with this pid in other containers.
    arriving = path.with_name(f".{path.name}.{uuid.uuid4().hex}{_ARRIVING}")
    try:
        with arriving.open("x") as file:
            file.write(text)
            file.flush()
            sync(file.fileno())
        arriving.replace(path)
        sync_dir(path.parent)
    except OSError as error:
        # The system names the temporary file, or none: write() reports a full disk without a name.
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(
            OSError
        ):  # On a read-only file system even a missing file cannot be removed.
            arriving.unlink()
    return None


def sweep_unfinished(directory: Path, *, like: Path) -> None:
    """Remove temporary files of writers that were killed well before `like` was written.

    Times of files are compared with each other and not with a clock: the directory may be on
    another host.
    """
    before = like.stat().st_mtime - _LEFT_OVER_S
    for path in directory.glob(f".*{_ARRIVING}"):
        with contextlib.suppress(FileNotFoundError):  # Its writer lives, or another process sweeps.
            if path.stat().st_mtime < before:
                path.unlink()


def make_durable_dir(directory: Path) -> None:
    """Create a directory and its parents; return once their names are on disk."""
    if isinstance(directory, RemotePath):
        return directory.mkdir(parents=True, exist_ok=True)
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_dir(path.parent)
    return None


def remove_tree(directory: Path) -> None:
    """Remove a directory and its contents as far as possible; leftovers have no meaning."""
    if isinstance(directory, RemotePath):
        with contextlib.suppress(OSError):
            directory.remove_tree()
    else:
        shutil.rmtree(directory, ignore_errors=True)


def sync_dir(directory: Path) -> None:
    """Return once the names in a directory are on disk; at a URL they already are."""
    if isinstance(directory, RemotePath):
        return
    sync_directory(directory)
