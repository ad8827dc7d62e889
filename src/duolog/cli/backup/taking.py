"""Take one cut of a broker's logs and of the checkpoints of its applications.

    look at checkpoints … look ──► cut ──► look … ──► names of all files
                           └─ the same files ─┘

The broker takes the cut while the checkpoints are being looked at. If an application has committed
between the last look before the cut and the first one after it, another cut is taken. So a
checkpoint is never ahead of its topics, and knows every transaction that it has committed: the
restored application continues as after a crash.

Thread: one.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.cli.backup.checkpoint_files import read_start_files, stage_files
from duolog.cli.backup.checkpoint_scan import Scan, scan
from duolog.log.backup.cut import Cut
from duolog.log.backup.live_broker import ask_for_cut
from duolog.log.backup.log_source import LogSource, Moved, lock_staging, staged, unstage
from duolog.log.backup.stopped_broker import ensure_served, rehearsed
from duolog.log.backup.writing import FileSource
from duolog.log.doctor.exclusive import exclusive
from duolog.log.errors import BackupRefused, DataDirInUse
from duolog.log.files.disk import Disk, RealDisk

_ATTEMPT_S: Final = 120.0
_LOOKS_KEPT: Final = 1000
_CHECK_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Taken:
    """The files of one moment, which stay readable until the context ends."""

    logs: LogSource
    files: Mapping[str, FileSource]
    created_ms: int
    online: bool


@contextmanager
def taken(root: Path, broker: Path) -> Iterator[Taken]:
    """Return the logs of `broker` and the checkpoints below `root`, of one moment.

    Raises:
        DataDirRefused: `broker` is not a data directory of this format.
        BackupRefused: partitions are damaged, the broker does not answer, or applications commit
            all the time.
        OSError: the file system refused.
    """
    with ExitStack() as stack:
        for directory in sorted({root, broker}):
            stack.callback(lock_staging(RealDisk(), str(directory)).release)
            unstage(str(directory))
            stack.callback(unstage, str(directory))
        yield _attempts(lambda disk: _attempt(stack, disk, root, broker))


def _attempts(attempt: Callable[[Disk], Taken]) -> Taken:
    """Call `attempt` until what it has taken belongs to one moment."""
    disk = RealDisk()
    deadline = time.monotonic() + _ATTEMPT_S
    while True:
        try:
            return attempt(disk)
        except Moved as reason:
            if time.monotonic() > deadline:
                raise BackupRefused(
                    "no moment was found at which all files fit together",
                    detail=f"The last attempt failed because {reason}.",
                    hint="Try again when applications commit less often, or stop them meanwhile.",
                ) from reason


def _attempt(stack: ExitStack, disk: Disk, root: Path, broker: Path) -> Taken:
    """Take the files of a running broker or of a stopped one, which may be another than before."""
    with ExitStack() as lock:
        try:
            lock.enter_context(exclusive(str(broker), read_only=True))
        except DataDirInUse:
            return _live(disk, root, broker)
        logs = rehearsed(disk, str(broker))
        ensure_served(logs.cut)
        found = _settled(root, logs)
        # It keeps a broker from starting until everything is copied.
        stack.push(lock.pop_all())
        return found


def _ensure_runs(broker: Path) -> None:
    """Notice that the broker has stopped and will not answer.

    Raises:
        Moved: it has.
    """
    try:
        with exclusive(str(broker), read_only=True):
            pass
    except DataDirInUse:
        return
    raise Moved("the broker has stopped")


def _live(disk: Disk, root: Path, broker: Path) -> Taken:
    looks: list[Scan] = []

    checked = time.monotonic()

    def look() -> None:
        nonlocal checked
        looks.append(scan(root))
        del looks[:-_LOOKS_KEPT]
        if time.monotonic() > checked + _CHECK_S:
            checked = time.monotonic()
            _ensure_runs(broker)

    created_ms = time.time_ns() // 1_000_000
    cut = ask_for_cut(disk, str(broker), look)
    look()
    ensure_served(cut)
    before = fitting_look(looks, cut)
    files = stage_files(root, before) | read_start_files(root)
    return Taken(staged(disk, str(broker), cut), files, created_ms, online=True)


def _settled(root: Path, logs: LogSource) -> Taken:
    created_ms = time.time_ns() // 1_000_000
    files = stage_files(root, scan(root)) | read_start_files(root)
    return Taken(logs, files, created_ms, online=False)


def fitting_look(looks: Sequence[Scan], cut: Cut) -> Scan:
    """Return the last look before a cut, if the first one after it has found the same.

    Raises:
        Moved: an application has committed in between, or no look is before the cut.
    """
    before = [one for one in looks if one.ended_ns <= cut.taken_ns]
    after = [one for one in looks if one.began_ns >= cut.taken_ns]
    if not before or not after:
        raise Moved("the broker was faster than a look at the checkpoints")
    changed = before[-1].control.items() ^ after[0].control.items()
    if changed:
        raise Moved(f"{min(path for path, _ in changed)} has changed")
    return before[-1]
