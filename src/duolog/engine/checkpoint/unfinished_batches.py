"""Micro-batches that Spark has planned and not committed, and how they are planned again.

offsets/N    planned: what micro-batch N reads
commits/N    done
state/       belongs to micro-batches that are done; without any it has no meaning
"""

from dataclasses import dataclass
from pathlib import Path

from duolog.engine.checkpoint.checkpoint_files import numbers_in
from duolog.engine.checkpoint.durable import remove_tree
from duolog.engine.checkpoint.pending_commit import prepared_path


@dataclass(frozen=True, slots=True)
class UnfinishedBatches:
    """The micro-batches of one Spark checkpoint."""

    spark_dir: Path

    def forget_planned(self) -> None:
        """Remove the source offsets of a micro-batch that was planned and not committed.

        Spark would read the same range again, but after an out-of-memory failure smaller ranges
        must follow. Its results may have been written in part, as after any crash: at least once.
        """
        offsets, commits = self.spark_dir / "offsets", self.spark_dir / "commits"
        planned = max(numbers_in(offsets), default=-1)
        # A prepared entry may be committed in Kafka; the micro-batch must then be marked as done.
        prepared = prepared_path(self.spark_dir.parent, planned).exists()
        if planned >= 0 and not prepared and not (commits / str(planned)).exists():
            # With its checksum, which would block the checksum of the next one.
            for name in (f".{planned}.crc", str(planned)):
                (offsets / name).unlink(missing_ok=True)
        self.forget_unplanned()

    def forget_unplanned(self) -> None:
        """Remove the leftovers of a start that ended before it planned its first micro-batch.

        Spark refuses to start next to any file of an earlier attempt, even a partial one.
        """
        logs = [self.spark_dir / name for name in ("offsets", "commits")]
        if not any(map(numbers_in, logs)):
            for directory in (*logs, self.spark_dir / "state"):
                remove_tree(directory)
