"""Decide which epochs count under exactly-once, by the marker in Kafka and Spark's log of commits.

    CHECKPOINTS/<application id>/prepared.N       the content of commits/N, stored before the commit
    CHECKPOINTS/<application id>/spark/commits/N  Spark's: epoch N is done
    topic <application id>-epochs                 the marker: the last committed epoch and its query

The transaction decides (`Transactions` in the kernel). It is committed between the two files, so a
start finds

    marker                           what has happened                    what is done
    of an epoch in commits           all is done, or nothing was written  nothing
    of an epoch before a prepared.N  the marker topic was truncated       refused
      that is in commits
    of the epoch after commits       a crash after the transaction        prepared.N becomes
                                                                          commits/N, once all parts
                                                                          are committed
    of a later epoch                 an older copy of the checkpoint      refused
    of another query                 another checkpoint wrote results     refused, unless an upgrade
                                                                          continues after it, or the
                                                                          checkpoint says so
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NotRequired, Self, TypedDict

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import last_commit, read_json, writing
from duolog.engine.checkpoint.checksums import write_with_checksum
from duolog.engine.checkpoint.durable import make_durable_dir
from duolog.engine.checkpoint.pending_commit import (
    PREPARED,
    prepared_path,
    read_pending_commit,
)
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch, LogTruncated
from duolog.engine.exactly_once.executor_transactions import ExecutorTransaction, Part

NO_EPOCH: Final = -1


class MarkerRecord(TypedDict):
    """The record `epoch` of the marker topic."""

    query: str
    epoch: int
    prepared: NotRequired[str]
    parts: NotRequired[list[Part]]


@dataclass(frozen=True, slots=True)
class Marker:
    """The epoch of the last committed transaction, and Spark's id of its query."""

    query: str = ""
    epoch: int = NO_EPOCH
    parts: tuple[ExecutorTransaction, ...] = ()
    """On a cluster, the transactions of executors that are committed with it."""
    prepared: str = ""
    """The SHA-256 of the prepared entry of the epoch; empty if unknown."""

    @classmethod
    def parse(cls, markers: Mapping[str, MarkerRecord]) -> Self:
        """Parse the records of the marker topic, by key; others than `epoch` are ignored."""
        found = markers.get("epoch")
        if found is None:
            return cls()
        parts = tuple(ExecutorTransaction.parse(part) for part in found.get("parts", ()))
        digest = str(found.get("prepared", ""))
        return cls(str(found["query"]), int(found["epoch"]), parts, digest)


def marker_topic(name: str) -> str:
    """Return the marker topic of the application with this transaction name."""
    return f"{name}-epochs"


def transactional_id(name: str) -> str:
    """Return the transactional id of the transactions that decide, for this transaction name."""
    return f"{name}-0"


def ensure_goes_on(checkpoint: Checkpoint, marker: Marker, topic: str) -> None:
    """Raise unless the checkpoint continues where the committed results end.

    `topic` is the marker topic.

    Raises:
        CheckpointMismatch: committed results are unknown to the checkpoint; they would be written
            again.
        CheckpointDamaged: the prepared entry of the last epoch cannot be read.
        LogTruncated: the marker topic has lost its last records.
    """
    if marker.epoch == NO_EPOCH:
        return _ensure_marker_is_whole(checkpoint, marker, topic)
    application_id = checkpoint.directory.name
    if marker.query != query_id(checkpoint):
        if checkpoint.takes_over() == (marker.query, marker.epoch):
            return None
        before = checkpoint.upgrade.spark_dir_before
        if before is None or marker.query != _query_id(before, application_id):
            raise _not_its_own(checkpoint, topic, _why_other(checkpoint))
        if marker.epoch > _last_committed(before):
            raise _not_its_own(
                checkpoint,
                topic,
                "A crash followed its last transaction; start it once as it was before the "
                "upgrade.",
            )
        return None
    last = last_committed(checkpoint)
    if marker.epoch <= last:
        return _ensure_marker_is_whole(checkpoint, marker, topic)
    if marker.epoch > last + 1 or not prepared_path(checkpoint.directory, marker.epoch).is_file():
        known = f"epoch {last}" if last >= 0 else "the start"
        raise _not_its_own(
            checkpoint,
            topic,
            f"Epoch {marker.epoch} was committed, but it contains only commits up to {known}.",
        )
    offsets = checkpoint.spark_dir / "offsets" / str(marker.epoch)
    if not offsets.is_file():
        raise _not_its_own(
            checkpoint, topic, f"Epoch {marker.epoch} was committed, but {offsets} does not exist."
        )
    _read_prepared(checkpoint, marker)
    return None


def _read_prepared(checkpoint: Checkpoint, marker: Marker) -> str:
    path, application_id = (
        prepared_path(checkpoint.directory, marker.epoch),
        checkpoint.directory.name,
    )
    return read_pending_commit(path, marker.epoch, application_id, digest=marker.prepared)


def _ensure_marker_is_whole(checkpoint: Checkpoint, marker: Marker, topic: str) -> None:
    """Raise LogTruncated if the marker topic lacks an epoch that Spark's log has."""
    done = (of for of in _prepared_epochs(checkpoint) if _has_become_entry(checkpoint, of))
    marked = max(done, default=NO_EPOCH)
    if marked <= marker.epoch:
        return
    application_id = checkpoint.directory.name
    known = "no epoch" if marker.epoch == NO_EPOCH else f"epoch {marker.epoch}"
    raise LogTruncated(
        f'topic "{topic}" of application "{application_id}" has lost records',
        query_id=application_id,
        detail=f"It contains {known}; epoch {marked} was committed to it. Results that were "
        "committed in the same transactions may be lost too.",
        hint="Restore the broker's data. To compute everything again, run `duolog state reset "
        f"{application_id}`.",
    )


def _has_become_entry(checkpoint: Checkpoint, epoch: int) -> bool:
    """Return whether the prepared entry of an epoch is in Spark's log, so that it is committed."""
    entry = checkpoint.spark_dir / "commits" / str(epoch)
    with contextlib.suppress(FileNotFoundError, CheckpointDamaged, CheckpointMismatch):
        prepared = read_pending_commit(
            prepared_path(checkpoint.directory, epoch), epoch, checkpoint.directory.name
        )
        return entry.read_text() == prepared
    return False


def _prepared_epochs(checkpoint: Checkpoint) -> list[int]:
    names = (path.name for path in checkpoint.directory.glob(f"{PREPARED}[0-9]*"))
    return [int(name.removeprefix(PREPARED)) for name in names if name[len(PREPARED) :].isdigit()]


def is_behind(checkpoint: Checkpoint, marker: Marker) -> bool:
    """Return whether a crash followed the decision about an epoch, before Spark's entry of it."""
    return marker.query == query_id(checkpoint) and marker.epoch == last_committed(checkpoint) + 1


def finish(checkpoint: Checkpoint, marker: Marker) -> bool:
    """Mark the epoch of the last committed transaction as done, if a crash prevented that.

    Returns whether that was so. Call it after `ensure_goes_on`, as the owner of checkpoint and
    transactions.

    Raises:
        CheckpointNotWritable: this user may not write there, or there is no space.
        CheckpointDamaged: the prepared entry cannot be read; nothing is changed.
    """
    is_own = marker.query == query_id(checkpoint)
    if not is_own and marker.epoch != NO_EPOCH:
        # Recorded for longer than the upgrade: this query may write nothing for a long time.
        checkpoint.take_over(marker.query, marker.epoch)
    behind = marker.epoch != NO_EPOCH and is_behind(checkpoint, marker)
    if behind:
        commits = checkpoint.spark_dir / "commits"
        entry = _read_prepared(checkpoint, marker)
        with writing(checkpoint.directory, checkpoint.directory.name):
            make_durable_dir(commits)
            write_with_checksum(commits / str(marker.epoch), entry)
    for number in _prepared_epochs(checkpoint):
        # Keep the last one that counts: it later proves how far the marker had advanced.
        if not (is_own and number == marker.epoch):
            with contextlib.suppress(OSError):
                prepared_path(checkpoint.directory, number).unlink()
    return behind


def query_id(checkpoint: Checkpoint) -> str:
    """Return Spark's id of the query of a checkpoint; empty before its first start.

    Raises:
        CheckpointDamaged: the id cannot be read.
    """
    return _query_id(checkpoint.spark_dir, checkpoint.directory.name)


def last_committed(checkpoint: Checkpoint) -> int:
    """Return the number of the last epoch that is done; `NO_EPOCH` if there is none."""
    return _last_committed(checkpoint.spark_dir)


def _query_id(spark_dir: Path, application_id: str) -> str:
    path = spark_dir / "metadata"
    return str(read_json(path, application_id)["id"]) if path.is_file() else ""


def _last_committed(spark_dir: Path) -> int:
    found = last_commit(spark_dir)
    return NO_EPOCH if found is None else found


def _why_other(checkpoint: Checkpoint) -> str:
    """Return why committed results do not belong to the query that a checkpoint names."""
    path = checkpoint.spark_dir / "metadata"
    if not path.is_file() and last_commit(checkpoint.spark_dir) is not None:
        return f"The file with the id of the query that wrote them is missing: {path}."
    return "They were written with another checkpoint."


def _not_its_own(checkpoint: Checkpoint, topic: str, how: str) -> CheckpointMismatch:
    application_id = checkpoint.directory.name
    return CheckpointMismatch(
        f'application "{application_id}" has committed results that its checkpoint does not know '
        "of",
        query_id=application_id,
        detail=f"{how} Continuing would write results again. Checkpoint: {checkpoint.directory}.",
        hint="Restore the checkpoint that they were written with. To write all results again, "
        f'`duolog state reset {application_id}` removes checkpoint and internal topics, "{topic}" '
        "with them; "
        "or use another application id.",
    )
