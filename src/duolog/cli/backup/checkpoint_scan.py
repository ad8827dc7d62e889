"""One look at the checkpoints of all applications: which micro-batches are planned and committed.

    control files    all files of a checkpoint but the stores: they change with each micro-batch
    state/           stores: each version is in files of its own, which are never changed
    positions.json   replaced every few seconds; its content is kept with the look

If two looks find the same control files, no application has committed between them, so a cut of the
logs between the looks fits them. Files of the owner, which say who runs
the application, are left out.

Thread: any.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.log.backup.copies import Identity
from duolog.log.backup.log_source import STAGING

CHECKPOINTS: Final = "checkpoints"
_STORES: Final = "state"
_MARKS: Final = "positions.json"
_LEFT_OUT: Final = frozenset({_MARKS, "handover.wanted"})
_OWNER: Final = "owner."


@dataclass(frozen=True, slots=True)
class Scan:
    """The control files by their path from the data directory, and when they were looked at.

    `marks` are the contents of `positions.json`, which differ without any commit.
    """

    began_ns: int
    ended_ns: int
    control: Mapping[str, Identity]
    marks: Mapping[str, bytes]
    stores: Sequence[str]


def find_applications(root: Path) -> list[str]:
    """Return the checkpoints below a data directory, by their paths from there.

    They are in `checkpoints/NAME`; in `SERVICE/checkpoints/NAME` if SQL services run here; and in
    `server/SERVICE/checkpoints/NAME` if `duolog start` does.
    """
    homes = [root / CHECKPOINTS]
    for below in ("*", "*/*"):
        homes += sorted(root.glob(f"{below}/{CHECKPOINTS}"))
    staging = root / STAGING  # Second names that an earlier attempt has made.
    return [
        str(path.relative_to(root))
        for home in homes
        if home.is_dir() and staging not in home.parents
        for path in sorted(home.iterdir())
        if path.is_dir() and not path.is_symlink()
    ]


def scan(root: Path) -> Scan:
    """Look at all checkpoints of a data directory.

    Raises:
        OSError: the file system refused.
    """
    began = time.monotonic_ns()
    control: dict[str, Identity] = {}
    marks: dict[str, bytes] = {}
    stores: list[str] = []
    for application in find_applications(root):
        for directory, names in _walk(root, application, stores):
            for name in names:
                path = f"{directory}/{name}"
                if name == _MARKS:
                    with suppress(FileNotFoundError):
                        marks[path] = (root / path).read_bytes()
                elif is_kept(name):
                    identity = Identity.of(f"{root}/{path}")
                    if identity is not None:
                        control[path] = identity
    return Scan(began, time.monotonic_ns(), control, marks, tuple(stores))


def is_kept(name: str) -> bool:
    """Return whether a file belongs to a backup: it is neither temporary nor of the owner."""
    return not (name in _LEFT_OUT or name.startswith(_OWNER) or name.endswith(".tmp"))


def _walk(root: Path, application: str, stores: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the directories of a checkpoint but those of stores, which are added to `stores`."""
    for found, directories, names in os.walk(f"{root}/{application}"):
        inner = os.path.relpath(found, root)
        if _STORES in directories:
            directories.remove(_STORES)
            stores.append(f"{inner}/{_STORES}")
        yield inner, names
