"""Can the files that a start depends on be read? Where not: which, what is lost, and what to do.

Spark reads the last entries of its logs and raises a bare Java error over one that is empty or cut.
Looked at before it starts, and nothing is mended: only a person knows whether a copy is at hand.

    metadata     who the query is                   damaged: its state cannot be found
    offsets/N    what micro-batch N reads           of one that is not committed: it is planned anew
    commits/N    micro-batch N is done              damaged: it is computed again
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from duolog.engine.errors import CheckpointDamaged, CheckpointNotWritable

Json = dict[str, Any]

REMOVE_ALL: Final = (
    "Bring a copy of the checkpoint back, or remove the checkpoint to compute everything again from "
    "the topics."
)


def damaged(path: Path, application_id: str, lost: str, hint: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f'file "{path}" of application "{application_id}" is damaged',
        query_id=application_id,
        detail=lost,
        hint=hint,
    )


@contextlib.contextmanager
def writing(directory: Path, application_id: str) -> Iterator[None]:
    """Raise CheckpointNotWritable where the system refuses what is written within."""
    try:
        yield
    except OSError as error:
        raise CheckpointNotWritable(
            f'the checkpoint of application "{application_id}" cannot be written',
            query_id=application_id,
            detail=f"{error.filename or directory}: {error.strerror}.",
            hint="Give this user the right to write there, free space, or use another data directory.",
        ) from error


def read_json(path: Path, application_id: str) -> Json:
    """Return the object in a file.

    Raises:
        CheckpointDamaged: there is none in it.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise damaged(path, application_id, "It tells what the state means.", REMOVE_ALL)
    return found


def ensure_unused(spark_dir: Path, pin: Path, application_id: str) -> None:
    """Raise CheckpointDamaged where there is state, and nothing that tells what it means."""
    if any(spark_dir.glob("commits/[0-9]*")):
        raise CheckpointDamaged(
            f'file "{pin}" of application "{application_id}" is missing',
            query_id=application_id,
            detail=f"It tells what the state in {spark_dir} means.",
            hint=REMOVE_ALL,
        )


def ensure_readable(spark_dir: Path, application_id: str) -> None:
    """Raise CheckpointDamaged where Spark could not read what it needs to go on."""
    if (metadata := spark_dir / "metadata").exists():
        read_json(metadata, application_id)
    committed = _numbers(spark_dir / "commits")
    for number in committed[-1:]:
        path = spark_dir / "commits" / str(number)
        if not _is_entry(path):
            lost = f"It says that micro-batch {number} is done."
            hint = (
                f"Remove it and .{number}.crc beside it: the micro-batch is computed again, and its "
                "results are written again."
            )
            raise damaged(path, application_id, lost, hint)
    for number in _numbers(spark_dir / "offsets")[-2:]:
        path = spark_dir / "offsets" / str(number)
        if _is_entry(path):
            continue
        lost = f"It says what micro-batch {number} reads."
        if number in committed:
            raise damaged(path, application_id, lost, REMOVE_ALL)
        hint = f"Remove it and .{number}.crc beside it: the micro-batch is planned anew."
        raise damaged(path, application_id, f"{lost} That one is not done yet.", hint)


def _numbers(log: Path) -> list[int]:
    return sorted(int(path.name) for path in log.glob("[0-9]*") if path.name.isdigit())


def _is_entry(path: Path) -> bool:
    """Tell whether a file is a whole entry: a line with a version, then lines of JSON or `-`."""
    try:
        version, *lines = path.read_text().splitlines()
        for line in lines:
            if line != "-":
                json.loads(line)
    except ValueError:
        return False
    return version.startswith("v") and bool(lines)
