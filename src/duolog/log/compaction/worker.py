"""The process that compacts: reads jobs from standard input, answers on standard output.

It ends with the broker, however that one ends: the kernel kills it then, and elsewhere than on
Linux it looks by itself. So two processes never write into one directory. It may be killed at any
time: what it wrote counts for nothing before the broker has swapped it in.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, TextIO

from duolog.core.operating_system.processes import end_with, yield_to_others
from duolog.log.compaction.compactor import Compactor
from duolog.log.compaction.job import (
    NEXT,
    Answer,
    CleanedGroup,
    CompactionJob,
    Done,
    Failed,
    encode_answer,
)
from duolog.log.errors import CorruptLog
from duolog.log.files.disk import Disk, RealDisk
from duolog.record.errors import CorruptBatch

_NICENESS: Final = 15
_SLEEP_SECONDS_MIN: Final = 0.01


class Pace:
    """Limits reading and writing to some bytes per second, and checks that the broker is alive."""

    def __init__(self, bytes_per_second: float) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at = time.monotonic()
        self._parent = os.getppid()

    def __call__(self, size_bytes: int) -> None:
        """Note `size_bytes`, and wait if there were too many.

        Raises:
            SystemExit: the broker is gone.
        """
        if os.getppid() != self._parent:
            raise SystemExit(1)
        if not self._bytes_per_second:
            return
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + size_bytes / self._bytes_per_second
        if self._free_at - now > _SLEEP_SECONDS_MIN:
            time.sleep(self._free_at - now)


def answers(
    disk: Disk,
    job: CompactionJob,
    random_bytes: Callable[[int], bytes],
    pace: Callable[[int], None] = lambda _bytes: None,
) -> Iterator[Answer]:
    """Run one job: yield each group that is written, then how it ended."""
    began = time.monotonic()
    compactor = Compactor(disk, job, random_bytes=random_bytes, pace=pace)
    try:
        yield from compactor.run()
    except (CorruptLog, CorruptBatch) as error:
        yield Failed(f"{error.message} {error.detail}".strip(), vanished=False)
    except FileNotFoundError as error:
        yield Failed(str(error), vanished=True)
    except Exception as error:  # noqa: BLE001 - the broker logs it, then continues with other logs
        yield Failed(f"{type(error).__name__}: {error}", vanished=False)
    else:
        seconds = time.monotonic() - began
        yield Done(compactor.clean_offset, compactor.bytes_read, compactor.bytes_written, seconds)


def run_job(job: CompactionJob, commands: TextIO, told: TextIO) -> None:
    """Run one job to its end, or until the broker says that it is not wanted any more."""
    for answer in answers(RealDisk(), job, os.urandom, Pace(job.bytes_per_second)):
        _say(told, answer)
        if isinstance(answer, CleanedGroup) and commands.readline().strip() != NEXT:
            return


def _say(answers: TextIO, answer: Answer) -> None:
    print(encode_answer(answer), file=answers, flush=True)


def main(parent: int) -> None:
    """Serve jobs of the process `parent` until standard input ends."""
    end_with(parent)
    yield_to_others(_NICENESS, batch=True)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        while line := sys.stdin.readline():
            if line.startswith("{"):
                run_job(CompactionJob.decode(line), sys.stdin, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
