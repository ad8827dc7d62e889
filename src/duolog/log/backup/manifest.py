"""The manifest of one backup: all that it contains. It is complete when its manifest exists.

    backup-000003      JSON in the form of `checked_file`

Thread: any.
"""

import base64
import errno
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from duolog.core.ids import TopicId
from duolog.log.backup.copies import Copy, Piece
from duolog.log.backup.cut import Cut
from duolog.log.errors import BackupDamaged, DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk

_PREFIX: Final = "backup-"
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class PartitionCopy:
    """The copied log of a partition.

    Attributes:
        log_start: the first readable offset.
        holes_below: compaction may have left holes between batches below this offset.
        segments: by base offset, rising.
    """

    topic_id: TopicId
    partition: int
    log_start: int
    holes_below: int
    segments: Mapping[int, Copy]

    @property
    def path(self) -> str:
        return f"topics/{self.topic_id}/{self.partition}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One backup.

    Attributes:
        created_ms: when its cut was taken, in milliseconds since 1970.
        broker: where the broker's files were, from the data directory: "" or "broker".
        settings: the broker's small files with configs, by name.
        files: files of applications by their path from the data directory.
    """

    number: int
    created_ms: int
    broker: str
    cut: Cut
    settings: Mapping[str, bytes]
    partitions: tuple[PartitionCopy, ...]
    files: Mapping[str, Copy] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{_PREFIX}{self.number:0{_DIGITS}d}"

    def copies(self) -> Iterator[tuple[str, Copy]]:
        """Yield each copy with the key of its file."""
        for partition in self.partitions:
            for base_offset, copy in partition.segments.items():
                yield segment_key(partition.path, base_offset), copy
        yield from self.files.items()

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces, each as often as it is used."""
        for _, copy in self.copies():
            yield from copy.pieces

    @property
    def size_bytes(self) -> int:
        return sum(copy.size_bytes for _, copy in self.copies())

    def encode(self) -> bytes:
        """Return the content of the file."""
        content = {
            "created_ms": self.created_ms,
            "broker": self.broker,
            "cut": self.cut.as_json(),
            "settings": {
                name: base64.b64encode(data).decode() for name, data in self.settings.items()
            },
            "partitions": [
                {
                    "topic": str(one.topic_id),
                    "partition": one.partition,
                    "log_start": one.log_start,
                    "holes_below": one.holes_below,
                    "segments": {str(base): copy.as_json() for base, copy in one.segments.items()},
                }
                for one in self.partitions
            ],
            "files": {path: copy.as_json() for path, copy in self.files.items()},
        }
        return json.dumps(content).encode()

    @classmethod
    def decode(cls, number: int, data: bytes) -> "Manifest":
        """Return the manifest of `encode`.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is not one.
        """
        content = json.loads(data)
        for path in (content["broker"], *content["settings"], *content["files"]):
            _ensure_below(path)
        return cls(
            number,
            int(content["created_ms"]),
            str(content["broker"]),
            Cut.of_json(content["cut"]),
            {name: base64.b64decode(text) for name, text in content["settings"].items()},
            tuple(_partition_of(one) for one in content["partitions"]),
            {str(path): Copy.of_json(copy) for path, copy in content["files"].items()},
        )


def _ensure_below(path: str) -> None:
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f'the path "{path}" leaves the data directory')


def _partition_of(content: Mapping[str, Any]) -> PartitionCopy:
    return PartitionCopy(
        TopicId(UUID(content["topic"])),
        int(content["partition"]),
        int(content["log_start"]),
        int(content["holes_below"]),
        {int(base): Copy.of_json(copy) for base, copy in content["segments"].items()},
    )


def segment_key(partition_path: str, base_offset: int) -> str:
    """Return the key of a log segment."""
    return f"{partition_path}/{base_offset}"


def list_manifests(disk: Disk, directory: str) -> list[int]:
    """Return the numbers of the complete backups in a directory, rising."""
    found = (name.removeprefix(_PREFIX) for name in disk.list(directory) if _PREFIX in name)
    return sorted(int(digits) for digits in found if digits.isdigit())


def manifest_name(number: int) -> str:
    """Return the name of the file of a backup."""
    return f"{_PREFIX}{number:0{_DIGITS}d}"


def read_manifest(disk: Disk, directory: str, number: int) -> Manifest:
    """Return a backup.

    Raises:
        BackupDamaged: its file is missing or not what was written.
    """
    path = f"{directory}/{manifest_name(number)}"
    hint = "Use another backup; --list shows all that can be read."
    try:
        data = read_checked(disk, directory, manifest_name(number))
        if data is None:
            raise BackupDamaged(f'file "{path}" is missing', hint=hint)
        return Manifest.decode(number, data)
    except (DamagedFile, ValueError, KeyError, TypeError, AttributeError) as error:
        detail = error.detail if isinstance(error, DamagedFile) else f"It says: {error}."
        raise BackupDamaged(f'file "{path}" is damaged', detail=detail, hint=hint) from error
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise BackupDamaged(
            f'file "{path}" is damaged', detail="It cannot be read.", hint=hint
        ) from error


def write_manifest(disk: Disk, directory: str, manifest: Manifest) -> None:
    """Complete a backup: its pieces must be durable.

    Raises:
        OSError: the disk refused.
    """
    write_checked(disk, directory, manifest.name, manifest.encode())
