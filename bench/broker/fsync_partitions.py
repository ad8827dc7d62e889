"""Cost of a durable group commit with many dirty partitions.

Each round appends `--bytes` to each of N segment files and makes them durable in one of five ways.
Prints p50 and p99 of the time from the first sync call to the last.

    per_file   fdatasync on each dirty segment
    threads    the same from four threads
    journal    copy the new bytes into one new, growing file and fdatasync that; the segments are
               synced two at a time in each round and the journal restarts when all have been
    recycled   the same over a journal file whose blocks were written before (no size change)
    syncfs     one syncfs(2) for the whole file system

Run: scripts/bench fsync_partitions --directory /var/tmp
"""

import argparse
import ctypes
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.common.results_file import write_result

JOURNAL_BYTES = 128 * 1024 * 1024
SEGMENTS_SYNCED_PER_ROUND = 2
_LIBC = ctypes.CDLL(None, use_errno=True)


class Journal:
    """One file with the new bytes of all segments, and the segments that are not synced yet."""

    def __init__(self, directory: Path, segments: list[int], *, recycled: bool) -> None:
        self._segments = segments
        self._recycled = recycled
        self._next_segment = 0
        self._position = 0
        flags = os.O_RDWR | os.O_CREAT
        self._descriptor = os.open(directory / "journal", flags)
        if recycled:
            block = bytes(1024 * 1024)
            for _ in range(JOURNAL_BYTES // len(block)):
                os.write(self._descriptor, block)
            os.fsync(self._descriptor)

    def commit(self, payload: bytes) -> None:
        size = len(payload) * len(self._segments)
        if self._position + size > JOURNAL_BYTES:
            self._restart()
        os.pwrite(self._descriptor, payload * len(self._segments), self._position)
        self._position += size
        os.fdatasync(self._descriptor)
        for _ in range(min(SEGMENTS_SYNCED_PER_ROUND, len(self._segments))):
            os.fdatasync(self._segments[self._next_segment])
            self._next_segment = (self._next_segment + 1) % len(self._segments)

    def _restart(self) -> None:
        self._position = 0
        if not self._recycled:
            os.ftruncate(self._descriptor, 0)

    def close(self) -> None:
        os.close(self._descriptor)


def sync_one_by_one(segments: list[int]) -> None:
    for descriptor in segments:
        os.fdatasync(descriptor)


def sync_file_system(descriptor: int) -> None:
    if _LIBC.syncfs(descriptor) != 0:
        raise OSError(ctypes.get_errno(), "syncfs failed")


def measure(
    directory: Path, partitions: int, way: str, rounds: int, payload: bytes
) -> dict[str, float]:
    """Time `rounds` group commits; return p50, p99 and max in milliseconds."""
    work = Path(tempfile.mkdtemp(dir=directory))
    segments = [
        os.open(work / f"{i}.log", os.O_RDWR | os.O_CREAT | os.O_APPEND) for i in range(partitions)
    ]
    journal = None
    if way in {"journal", "recycled"}:
        journal = Journal(work, segments, recycled=way == "recycled")
    pool = ThreadPoolExecutor(4)
    commits: dict[str, Callable[[], object]] = {
        "per_file": lambda: sync_one_by_one(segments),
        "threads": lambda: list(pool.map(os.fdatasync, segments)),
        "syncfs": lambda: sync_file_system(segments[0]),
    }
    if journal is not None:
        commits[way] = partial(journal.commit, payload)
    commit = commits[way]
    try:
        return _time_rounds(commit, segments, rounds, payload)
    finally:
        pool.shutdown()
        if journal is not None:
            journal.close()
        for descriptor in segments:
            os.close(descriptor)
        shutil.rmtree(work)


def _time_rounds(
    commit: Callable[[], object], segments: list[int], rounds: int, payload: bytes
) -> dict[str, float]:
    took_ms = []
    for round_number in range(rounds + 2):
        for descriptor in segments:
            os.write(descriptor, payload)
        started = time.perf_counter()
        commit()
        if round_number >= 2:  # The first rounds allocate the files.
            took_ms.append((time.perf_counter() - started) * 1e3)
    took_ms.sort()
    return {
        "p50_ms": round(took_ms[len(took_ms) // 2], 3),
        "p99_ms": round(took_ms[int(len(took_ms) * 0.99)], 3),
        "max_ms": round(took_ms[-1], 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 8, 16, 50, 500])
    parser.add_argument("--bytes", type=int, nargs="+", default=[1024, 65536])
    options = parser.parse_args()

    rows = []
    for size in options.bytes:
        for partitions in options.partitions:
            rounds = max(20, min(300, 8000 // partitions // (1 + size // 16384)))
            for way in ("per_file", "threads", "journal", "recycled", "syncfs"):
                row: dict[str, object] = {
                    "bytes": size,
                    "partitions": partitions,
                    "way": way,
                    "rounds": rounds,
                    **measure(options.directory, partitions, way, rounds, bytes(size)),
                }
                rows.append(row)
                print(row, flush=True)
    write_result("fsync_partitions", {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
