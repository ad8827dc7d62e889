"""Small files beside Spark's checkpoint, written so that a power cut leaves the old one or the new."""

import os
from pathlib import Path


def write_durably(path: Path, text: str) -> None:
    """Put `text` into a file; return once it and its name are on disk."""
    arriving = path.with_name(f".{path.name}.{os.getpid()}")
    with arriving.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    arriving.replace(path)
    sync_dir(path.parent)


def make_durable_dir(directory: Path) -> None:
    """Make a directory and those above it; return once their names are on disk."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_dir(path.parent)


def sync_dir(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
