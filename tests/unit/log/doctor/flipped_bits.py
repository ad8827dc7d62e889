"""Flip the bits of a small data directory one by one, and compare doctor and broker.

Each bit belongs to one of `PARTS` parts. A bit is found if the doctor reports more than notes. It is
harmless if a broker serves the same as before. It is unnoticed if it is neither.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from duolog.log.doctor import Severity, examine
from duolog.log.errors import DataDirRefused
from duolog.log.files.disk import Disk
from duolog.testing.disk import CrashDisk
from unit.log.doctor.small_directory import DATA, files_of, flipped, served, small_directory

PARTS: Final = 40
STATES: Final = ("stopped", "killed", "moved")
"""After a clean stop, after a kill, and copied to another machine after a kill."""


@dataclass
class Flipped:
    """The number of bits that were found or harmless, and those that were neither."""

    counts: Counter[str] = field(default_factory=Counter)
    unnoticed: list[str] = field(default_factory=list)


@cache
def directory(state: str) -> tuple[CrashDisk, dict[str, Any]]:
    """Return a directory, and what a broker serves from it."""
    disk = small_directory(stopped=state == "stopped")
    disk.boots += state == "moved"
    return disk, served(disk)


def bits_of(disk: CrashDisk) -> list[tuple[str, int]]:
    return [(path, bit) for path in files_of(disk) for bit in range(8 * disk.size(path))]


def flip_bits(part: int) -> Flipped:
    """Flip the bits of one part in each directory."""
    result = Flipped()
    for state in STATES:
        flip(state, bits_of(directory(state)[0])[part::PARTS], result)
    return result


def flip(state: str, bits: Iterable[tuple[str, int]], result: Flipped) -> None:
    disk, expected = directory(state)
    for path, bit in bits:
        damaged = flipped(disk, path, bit)
        result.counts["bits"] += 1
        if problems(damaged):
            result.counts["found"] += 1
        elif served(damaged) == expected:
            result.counts["harmless"] += 1
        else:
            result.unnoticed.append(f"{state}: bit {bit} of {path}")


def problems(disk: Disk) -> list[str]:
    """Return the findings that are not notes."""
    try:
        findings = examine(disk, DATA).findings
    except DataDirRefused as refused:
        return [refused.message]
    return [
        f"{one.severity} {one.place.path} {one.place.partition} {one.place.offset} {one.problem}"
        for one in findings
        if one.severity is not Severity.NOTE
    ]
