"""Verify the checkpoints of applications by the checksums next to their files.

    checkpoints/NAME/*.json            a JSON object
    checkpoints/NAME/spark/**/F        compared with .F.crc
    checkpoints/NAME/spark/            the files that Spark needs are there and readable

An application that runs changes its files, so it is left out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.core.operating_system.locks import java_holds_lock
from duolog.engine.checkpoint.checkpoint_files import ensure_readable
from duolog.engine.checkpoint.checksums import matches_checksum
from duolog.engine.errors import CheckpointDamaged
from duolog.log.doctor.finding import Finding, Place, Severity

_OWNER_LOCK: Final = "owner.lock"
_DESCRIPTIONS: Final = ("application.json", "positions.json", "starts.json")


def check_checkpoints(data_dir: Path) -> Iterator[Finding]:
    """Yield the findings in all checkpoints of a data directory of `duolog run`."""
    root = data_dir / "checkpoints"
    for application in sorted(root.iterdir()) if root.is_dir() else ():
        if not application.is_dir():
            continue
        if _runs(application):
            yield _finding(data_dir, application, "the application runs: not examined", note=True)
            continue
        yield from _check_application(data_dir, application)


def _check_application(data_dir: Path, application: Path) -> Iterator[Finding]:
    damaged = set()
    for name in _DESCRIPTIONS:
        path = application / name
        if path.exists() and not _is_object(path):
            damaged.add(path)
            yield _finding(data_dir, path, "the file holds no JSON object")
    for path in sorted(application.rglob("*")):
        if not path.is_file() or path.name.endswith(".crc") or path in damaged:
            continue
        try:
            if matches_checksum(path):
                continue
            problem = "the file does not match its checksum"
        except OSError as error:
            problem = f"the file cannot be read: {error}"
        damaged.add(path)
        yield _finding(data_dir, path, problem)
    for spark in sorted(application.glob("spark*")):
        try:
            if spark.is_dir() and not any(spark in path.parents for path in damaged):
                ensure_readable(spark, application.name)
        except CheckpointDamaged as error:
            yield _finding(data_dir, spark, f"{error.message}. {error.detail}".strip())


def _runs(application: Path) -> bool:
    try:
        with (application / _OWNER_LOCK).open("rb") as file:
            return java_holds_lock(file.fileno())
    except OSError:
        return False


def _is_object(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except (ValueError, OSError):
        return False


def _finding(data_dir: Path, path: Path, problem: str, *, note: bool = False) -> Finding:
    place = Place(str(path.relative_to(data_dir)))
    return Finding(Severity.NOTE if note else Severity.DAMAGE, place, problem)
