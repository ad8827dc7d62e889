"""Verify the journal: each frame's checksum, and the bytes that are not a whole frame.

The last commit may have been interrupted, so a frame that is cut off, or that has an empty sector,
is a note. A complete frame with a wrong checksum, or one with whole frames after it, is damage:
the start reads no frame after it.
"""

from struct import Struct
from typing import Final

from crc32c import crc32c

from duolog.log.doctor.finding import Findings, Place
from duolog.log.files.disk import Disk, read_file
from duolog.log.journal import whole_frames

JOURNAL_DIRECTORY: Final = "journal"
_SUFFIX: Final = ".journal"
_HEAD: Final = Struct(">IHqI")
_SECTOR_BYTES: Final = 512
_PATH_BYTES_MAX: Final = 200
_PATH_START: Final = b"topics/"


def check_journal(disk: Disk, data_dir: str, findings: Findings, *, settled: bool) -> int:
    """Verify all journal files; returns the number of whole frames.

    `settled`: no power failure can have torn a write.
    """
    frames = 0
    for name in disk.list(f"{data_dir}/{JOURNAL_DIRECTORY}"):
        path = f"{JOURNAL_DIRECTORY}/{name}"
        if not name.endswith(_SUFFIX):
            problem = (
                "a crash left this file incomplete"
                if name.endswith(".tmp")
                else "not a file of Duolog"
            )
            findings.note(Place(path), problem)
            continue
        data = read_file(disk, f"{data_dir}/{path}") or b""
        end = 0
        for segment, _, content in whole_frames(data):
            frames += 1
            end += _HEAD.size + len(segment.encode()) + len(content)
        if end < len(data):
            _report_rest(path, data, end, findings, settled=settled)
    return frames


def _report_rest(path: str, data: bytes, end: int, findings: Findings, *, settled: bool) -> None:
    rest = data[end:]
    place = Place(path, position=end)
    following = _whole_frame_after(rest)
    torn_at = len(data) if following is None else end + following
    torn = not settled and _has_empty_sector(data[:torn_at], end)
    if following is not None and not torn:
        problem = f"frame is damaged, and a whole one follows at position {end + following}"
        findings.damage(place, problem)
    elif torn or _is_cut(rest):
        findings.note(place, f"an interrupted commit of {len(rest)} bytes; it is ignored")
    else:
        findings.damage(place, "frame has a wrong checksum")


def _is_cut(rest: bytes) -> bool:
    if len(rest) < _HEAD.size:
        return True
    _, path_bytes, position, data_bytes = _HEAD.unpack_from(rest)
    plausible = path_bytes <= _PATH_BYTES_MAX and position >= 0
    return bool(plausible and _HEAD.size + path_bytes + data_bytes > len(rest))


def _has_empty_sector(data: bytes, start: int) -> bool:
    begin = start // _SECTOR_BYTES * _SECTOR_BYTES
    return any(
        not any(data[max(at, start) : at + _SECTOR_BYTES])
        for at in range(begin, len(data), _SECTOR_BYTES)
    )


def _whole_frame_after(rest: bytes) -> int | None:
    """Return where a whole frame begins after the damaged one; its path shows where to look."""
    at = rest.find(_PATH_START, _HEAD.size + 1)
    while at >= 0:
        start = at - _HEAD.size
        crc, path_bytes, _, data_bytes = _HEAD.unpack_from(rest, start)
        end = at + path_bytes + data_bytes
        if start > 0 and end <= len(rest) and crc32c(rest[start + 4 : end]) == crc:
            return start
        at = rest.find(_PATH_START, at + 1)
    return None
