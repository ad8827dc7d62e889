"""The commit-log entry of an epoch, stored as `prepared.N` until Spark has written it.

    duolog-prepared 1 SHA-256 of all that follows
    v2
    {…}

The kernel writes it (`PreparedEntry`) and puts its SHA-256 into the marker, so that a file of
another attempt, restored by hand, is not mistaken for the committed one. Files of older versions
have no first line and are just the entry.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checkpoint_files import damaged
from duolog.engine.errors import CheckpointMismatch

FORMAT: Final = 1
PREPARED: Final = "prepared."
_HEAD: Final = re.compile(rb"duolog-prepared (\d+) ([0-9a-f]{64})")
_ENTRY: Final = re.compile(rb"v\d+\n")
_LOST: Final = (
    "Results of epoch {} are committed, and it holds the entry that Spark needs for the epoch."
)
_HINT: Final = (
    "Restore the file from a backup. If the stores have changelogs, `duolog state restore FILE` "
    "does not need it. Otherwise `duolog state reset {}` computes everything again, and its "
    "results are written again."
)


def prepared_path(directory: Path, epoch: int) -> Path:
    """Return where a checkpoint in `directory` has the entry of an epoch."""
    return directory / f"{PREPARED}{epoch}"


def read_pending_commit(path: Path, epoch: int, application_id: str, *, digest: str = "") -> str:
    """Return the entry; `digest` is the SHA-256 in the marker, or empty if the marker has none.

    Raises:
        CheckpointDamaged: the file does not match its checksum or the marker.
        CheckpointMismatch: a newer Duolog wrote it.
    """
    content = path.read_bytes()
    first, _, entry = content.partition(b"\n")
    head = _HEAD.fullmatch(first)
    if head is None and _ENTRY.match(content) and not digest:
        return content.decode()
    if head is not None and int(head[1]) > FORMAT:
        raise CheckpointMismatch(
            f'file "{path}" of application "{application_id}" was written by a newer Duolog',
            query_id=application_id,
            detail=f"Its format is {int(head[1])}; this Duolog reads {FORMAT}.",
            hint="Use the newer Duolog.",
        )
    if head is None or hashlib.sha256(entry).hexdigest().encode() != head[2]:
        raise damaged(path, application_id, _LOST.format(epoch), _HINT.format(application_id))
    if digest and head[2].decode() != digest:
        other = f"It belongs to another attempt: the marker names the SHA-256 {digest}."
        lost = f"{_LOST.format(epoch)} {other}"
        raise damaged(path, application_id, lost, _HINT.format(application_id))
    return entry.decode()
