"""Check that the files that a start depends on exist and are readable.

An error names the file, what is lost, and what to do.

Spark reads the last entries of its logs and raises a bare Java error if one is empty or truncated.
If one is missing, as in a partial copy of a directory, Spark reports nothing: it starts from
scratch, or from older state. The files are checked before Spark starts, and nothing is repaired:
only a person knows whether there is a backup. Spark does not verify the checksums next to these
files either (`checksums`); a flipped bit is detected here.

    metadata          the id of the query                damaged: its state cannot be found
    sources/S/0       start positions of the first start damaged: earlier records look lost
    offsets/N         the input of micro-batch N         damaged, not committed: planned again
    commits/N         micro-batch N is done              damaged: computed again
    state/O/P/V_ID.*  state of operator O in task P      missing: the last commit names V and ID

If `offsets`, `commits` or `state` contains a file while no micro-batch is planned, even an
incomplete one, Spark does not start the query. Uncommitted files are removed once the checkpoint is
claimed.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checksums import matches_checksum
from duolog.engine.checkpoint.file_hints import file_hint
from duolog.engine.checkpoint.state_schemas import ensure_schemas
from duolog.engine.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    CheckpointNotWritable,
    FileSystemFailed,
)
from duolog.engine.json_object import Json

DIFFERS: Final = "Its content does not match its checksum."


def restore_or_reset_hint(application_id: str) -> str:
    """Return the hint for a checkpoint that cannot be used as it is."""
    return f"Restore the checkpoint from a backup, or run {reset_hint(application_id)}"


def reset_hint(application_id: str) -> str:
    """Return the hint to compute everything again.

    A checkpoint that is merely deleted is restored from changelogs, and is refused under
    exactly-once.
    """
    return f"`duolog state reset {application_id}` to compute everything again from the topics."


def damaged(path: Path, application_id: str, lost: str, hint: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f'file "{path}" of application "{application_id}" is damaged',
        query_id=application_id,
        detail=lost,
        hint=hint,
    )


@contextlib.contextmanager
def writing(directory: Path, application_id: str) -> Iterator[None]:
    """Raise CheckpointNotWritable if the system refuses to write a file in this block.

    The message has the same form as the kernel's: which of the two a full disk hits first is
    chance.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        detail, hint = "", file_hint(reason)
        if isinstance(error, FileSystemFailed):
            detail, hint = f"{error.message[:1].upper()}{error.message[1:]}.", error.hint
        raise CheckpointNotWritable(
            f'application "{application_id}" cannot write {error.filename or directory}: {reason}',
            query_id=application_id,
            detail=detail,
            hint=hint,
        ) from error


def read_json(path: Path, application_id: str) -> Json:
    """Return the object in a file.

    Raises:
        CheckpointDamaged: it contains no JSON object.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise damaged(
            path, application_id, "It describes the state.", restore_or_reset_hint(application_id)
        )
    return found


def ensure_unused(spark_dir: Path, pin: Path, application_id: str) -> None:
    """Raise CheckpointDamaged if there is state, but no file that describes it."""
    if any(spark_dir.glob("commits/[0-9]*")):
        raise CheckpointDamaged(
            f'file "{pin}" of application "{application_id}" is missing',
            query_id=application_id,
            detail=f"It describes the state in {spark_dir}.",
            hint=restore_or_reset_hint(application_id),
        )


def other_format(directory: Path, reads: int, found: int) -> CheckpointMismatch:
    newer = found > reads
    return CheckpointMismatch(
        f"checkpoint {directory} was written by {'a newer' if newer else 'an older'} Duolog",
        detail=f"Its format is {found}; this Duolog reads {reads}.",
        hint=f"Use {'the newer Duolog' if newer else 'that Duolog'}, or another application id, "
        f"or run {reset_hint(directory.name)}",
    )


def ensure_there(spark_dir: Path, application_id: str) -> None:
    """Raise CheckpointDamaged if Spark's commits are missing: Spark would start from scratch."""
    if not (spark_dir / "metadata").exists() and last_commit(spark_dir) is None:
        raise CheckpointDamaged(
            f'directory "{spark_dir}" of application "{application_id}" is missing',
            query_id=application_id,
            detail="It contains the committed state and positions. Without it everything would be "
            "computed from the beginning, and results would be written again.",
            hint="Restore it from a backup. If the application has changelogs, its next start "
            f"restores it from them; otherwise `duolog state reset {application_id}` makes the "
            "next start compute everything again.",
        )


def ensure_readable(spark_dir: Path, application_id: str) -> None:
    """Raise CheckpointDamaged if a file that Spark needs is unreadable or missing."""
    committed = numbers_in(spark_dir / "commits")
    if (metadata := spark_dir / "metadata").exists():
        read_json(metadata, application_id)
        _ensure_sum(metadata, application_id, "It identifies the query of the state.")
    elif committed:
        raise _missing(metadata, application_id, "It identifies the query of the state.")
    _ensure_logs_fit(spark_dir, application_id, committed, numbers_in(spark_dir / "offsets"))
    for number in committed[-1:]:
        path = spark_dir / "commits" / str(number)
        if not is_whole_entry(path):
            lost = f"It records that micro-batch {number} is done."
            hint = (
                f"Remove it and .{number}.crc next to it: the micro-batch is computed again, and "
                "its results are written again."
            )
            raise damaged(path, application_id, lost, hint)
    for path in sorted(spark_dir.glob("sources/*/[0-9]*")):
        _ensure_sum(path, application_id, "It records where the first start began.")
    for number in numbers_in(spark_dir / "offsets")[-2:]:
        path = spark_dir / "offsets" / str(number)
        if is_whole_entry(path):
            continue
        lost = f"It records what micro-batch {number} reads."
        if number in committed:
            raise damaged(path, application_id, lost, restore_or_reset_hint(application_id))
        hint = f"Remove it and .{number}.crc next to it: the micro-batch is planned again."
        raise damaged(path, application_id, f"{lost} It is not done yet.", hint)
    if committed:
        _ensure_state(spark_dir, committed[-1], application_id)
        ensure_schemas(spark_dir, application_id)


def _ensure_sum(path: Path, application_id: str, lost: str) -> None:
    if not matches_checksum(path):
        raise damaged(
            path, application_id, f"{lost} {DIFFERS}", restore_or_reset_hint(application_id)
        )


def _missing(path: Path, application_id: str, lost: str, hint: str = "") -> CheckpointDamaged:
    return CheckpointDamaged(
        f'file "{path}" of application "{application_id}" is missing',
        query_id=application_id,
        detail=f"{lost} The checkpoint is incomplete, as after a partial copy.",
        hint=hint or restore_or_reset_hint(application_id),
    )


def _ensure_logs_fit(
    spark_dir: Path, application_id: str, committed: list[int], planned: list[int]
) -> None:
    """Check that every planned micro-batch except the last is committed."""
    for number in committed[-1:]:
        if number not in planned:
            path = spark_dir / "offsets" / str(number)
            raise _missing(path, application_id, f"It records what micro-batch {number} has read.")
    for number in planned[-1:]:
        if number in committed:
            continue
        if number - 1 not in (-1, *committed):
            path = spark_dir / "commits" / str(number - 1)
            raise _missing(
                path, application_id, f"It records that micro-batch {number - 1} is done."
            )
        # Hadoop creates a file before its checksum: the file existed, and Spark could not write it
        # again.
        if (spark_dir / "commits" / f".{number}.crc").exists():
            path = spark_dir / "commits" / str(number)
            raise _missing(
                path,
                application_id,
                f"It records that micro-batch {number} is done.",
                f"Restore it, or remove .{number}.crc next to it: the micro-batch is computed "
                "again, and its results are written again.",
            )


def _ensure_state(spark_dir: Path, number: int, application_id: str) -> None:
    """Check that the state that the last commit refers to exists.

    Shapes: {operator: [[id of each store] of each task]}; the file of a store is a snapshot or a
    changelog.
    """
    entry = json.loads((spark_dir / "commits" / str(number)).read_text().splitlines()[1])
    ids = entry.get("stateUniqueIds") if isinstance(entry, dict) else None
    for operator, tasks in (ids or {}).items():
        for task, stores in enumerate(tasks):
            directory = spark_dir / "state" / operator / str(task)
            for store in stores:
                name = f"{number + 1}_{store}"
                files = [directory / f"{name}.changelog", directory / f"{name}.zip"]
                if not any(path.exists() for path in files):
                    lost = f"It is state of micro-batch {number}."
                    raise _missing(files[0], application_id, lost)
                for path in files:
                    if path.exists() and path.stat().st_size == 0:
                        lost = f"It is empty, but should hold state of micro-batch {number}."
                        raise damaged(
                            path, application_id, lost, restore_or_reset_hint(application_id)
                        )


def last_commit(spark_dir: Path) -> int | None:
    """Return the number of the last committed micro-batch or epoch; None before the first."""
    try:
        names = [path.name for path in (spark_dir / "commits").iterdir()]
    except FileNotFoundError:
        return None
    return max((int(name) for name in names if name.isdigit()), default=None)


def numbers_in(log: Path) -> list[int]:
    """Return the numbers of the entries of one of Spark's logs, in ascending order."""
    return sorted(int(path.name) for path in log.glob("[0-9]*") if path.name.isdigit())


def is_whole_entry(path: Path) -> bool:
    """Return whether a file is a complete entry: a version, then lines of JSON or `-`."""
    try:
        version, *lines = path.read_text().splitlines()
        for line in lines:
            if line != "-":
                json.loads(line)
    except ValueError:
        return False
    return version.startswith("v") and bool(lines) and matches_checksum(path)


def fingerprint(content: object) -> str:
    """Return a digest of JSON content; equal contents have equal digests."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
