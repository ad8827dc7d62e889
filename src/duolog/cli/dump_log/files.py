"""Dump indexes, recovery point, leader epochs and journals of a partition."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Final

from duolog.cli.dump_log.row import Row, damaged
from duolog.cli.dump_log.segment import Decode, segment_rows
from duolog.core.counts import counted
from duolog.core.errors import ConfigError
from duolog.log.checkpoints.leader_epochs import LeaderEpochs
from duolog.log.checkpoints.recovery_point import (
    EPOCHS_FILE_NAME,
    POINT_FILE_NAME,
    read_recovery_point,
)
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import decode_checked
from duolog.log.files.disk import RealDisk
from duolog.log.journal import whole_frames
from duolog.log.producers.aborted_index import ABORTED_ENTRY_BYTES, AbortedIndex
from duolog.log.producers.producer_state import ProducerStates

_OFFSET_ENTRY: Final = Struct(">II")
_TIME_ENTRY: Final = Struct(">qI")
_ABORTED_ENTRY: Final = Struct(">hqqqq")
_NAME: Final = "name="
_SHOWN_MAX: Final = 5

KINDS: Final = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".journal",
    POINT_FILE_NAME,
    EPOCHS_FILE_NAME,
)


def file_rows(path: Path, *, records: bool, decode: Decode | None = None) -> Iterator[Row]:
    """Yield the rows of one file, of any kind.

    Raises:
        ConfigError: the name is not that of a log file.
    """
    if path.suffix == ".log":
        return segment_rows(path, records=records, decode=decode)
    reader = _READERS.get(path.name) or _READERS.get(path.suffix)
    if reader is None or (path.suffix in _INDEXES and not path.stem.isdigit()):
        raise ConfigError(
            f'file "{path}" is not a log file',
            hint=f"Name a file that is, or ends with, one of {', '.join(KINDS)}. An index is named "
            "after the base offset of its segment.",
        )
    return reader(path)


def files_of(directory: Path) -> list[Path]:
    """Return the log files in a directory, sorted by name."""
    return sorted(
        path
        for path in directory.iterdir()
        if path.name in _READERS
        or path.suffix in {".log", ".journal"}
        or (path.suffix in _INDEXES and path.stem.isdigit())
    )


def nothing_in(directory: Path) -> ConfigError:
    """Return the error for a directory without log files, naming those of partitions in it."""
    found = islice(_partitions_below(directory), _SHOWN_MAX + 1)
    shown = [
        f"{directory_name} ({topic})" if topic else directory_name
        for directory_name, topic in found
    ]
    more = ", …" if len(shown) > _SHOWN_MAX else ""
    hint = "Name a file or the directory of a partition, such as topics/ID/0 in a data directory."
    if shown:
        hint = f"Name a partition: {', '.join(shown[:_SHOWN_MAX])}{more}."
    return ConfigError(f'directory "{directory}" contains no log files', hint=hint)


def _partitions_below(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield partition directories up to three levels below, with the names of their topics."""
    for pattern in ("*", "*/*", "*/*/*"):
        for path in sorted(directory.glob(pattern)):
            if path.is_dir() and path.name.isdigit() and files_of(path):
                names = [one.name.removeprefix(_NAME) for one in path.parent.glob(f"{_NAME}*")]
                yield str(path), names[0] if names else ""


def _offset_index(path: Path) -> Iterator[Row]:
    """Yield the entries of an offset index, each of which points at a batch in its segment."""
    base = int(path.stem)
    segment = path.with_suffix(".log")
    size = segment.stat().st_size if segment.exists() else None
    last = (-1, -1)
    for at, entry in _entries(path, _OFFSET_ENTRY):
        if entry is None:
            yield damaged(at, "entry is truncated")
            return
        row: Row = {"position": at, "offset": base + entry[0], "segment_position": entry[1]}
        if entry[0] <= last[0] or entry[1] <= last[1]:
            row["error"] = "entry is not greater than the previous one"
        elif size is not None and entry[1] >= size:
            row["error"] = f"segment has only {counted(size, 'byte')}"
        last = (entry[0], entry[1])
        yield row


def _time_index(path: Path) -> Iterator[Row]:
    base = int(path.stem)
    last = (-(2**63), -1)
    for at, entry in _entries(path, _TIME_ENTRY):
        if entry is None:
            yield damaged(at, "entry is truncated")
            return
        row: Row = {"position": at, "timestamp": entry[0], "offset": base + entry[1]}
        if entry[0] <= last[0] or entry[1] <= last[1]:
            row["error"] = "entry is not greater than the previous one"
        last = (entry[0], entry[1])
        yield row


def _entries(path: Path, form: Struct) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    data = path.read_bytes()
    for at in range(0, len(data), form.size):
        whole = at + form.size <= len(data)
        yield at, form.unpack_from(data, at) if whole else None


def _aborted_index(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    for at, entry in _entries(path, _ABORTED_ENTRY):
        if entry is None:
            yield damaged(at, "entry is truncated")
            return
        _, producer_id, first_offset, marker_offset, last_stable_offset = entry
        row: Row = {
            "position": at,
            "producer_id": producer_id,
            "first_offset": first_offset,
            "marker_offset": marker_offset,
            "last_stable_offset": last_stable_offset,
        }
        part = data[at : at + ABORTED_ENTRY_BYTES]
        if AbortedIndex.decode(part, int(path.stem)) is None:
            row["error"] = "entry is invalid"
        yield row


def _recovery_point(path: Path) -> Iterator[Row]:
    point = read_recovery_point(RealDisk(), str(path.parent))
    if point is None:
        yield damaged(
            0, "recovery point is damaged or has an unknown format; recovery reads the whole log"
        )
        return
    yield {
        "segment": point.segment,
        "segment_position": point.position,
        "next_offset": point.next_offset,
    }
    states = ProducerStates.decode(point.producers)
    if states is None:
        yield damaged(0, "producer snapshot is damaged")
        return
    for producer in states.active_producers():
        yield dict(producer._asdict())


def _leader_epochs(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    with suppress(DamagedFile):  # Kafka's own file is the content alone.
        data = decode_checked(str(path), data)
    if LeaderEpochs.decode(data) is None:
        yield damaged(0, "leader epoch file is unreadable")
        return
    for line in data.decode().splitlines()[2:]:
        epoch, start_offset = line.split()
        yield {"leader_epoch": int(epoch), "start_offset": int(start_offset)}


def _journal(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    end = 0
    for segment, position, content in whole_frames(data):
        yield {"segment": segment, "segment_position": position, "size_bytes": len(content)}
        end += _FRAME_HEAD_BYTES + len(segment.encode()) + len(content)
    if end < len(data):
        yield damaged(
            end, f"frame is incomplete; ignoring the last {counted(len(data) - end, 'byte')}"
        )


_FRAME_HEAD_BYTES: Final = 4 + Struct(">HqI").size

_INDEXES: Final = {".index", ".timeindex", ".txnindex"}

_READERS: Final[dict[str, Callable[[Path], Iterator[Row]]]] = {
    ".index": _offset_index,
    ".timeindex": _time_index,
    ".txnindex": _aborted_index,
    ".journal": _journal,
    POINT_FILE_NAME: _recovery_point,
    EPOCHS_FILE_NAME: _leader_epochs,
}
