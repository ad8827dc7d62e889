"""Which JVM runs an application: one at a time may write to its checkpoint.

    CHECKPOINTS/<application id>/owner.json    pid of the JVM, and when that process began

A JVM outlives a Python process that was killed for a moment, and would still write to the checkpoint
when the next one reads it. So a start waits until the owner is gone, and refuses where it stays.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.engine.errors import CheckpointInUse

OWNER_FILE: Final = "owner.json"
WAIT_S: Final = 30.0
_POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, by its number and its beginning: a number comes back, a beginning does not."""

    pid: int
    began: str

    @classmethod
    def of(cls, pid: int) -> "Owner":
        return cls(pid, _began(pid))

    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return _began(self.pid) == self.began and not _is_zombie(self.pid)


def claim(directory: Path, pid: int, application_id: str, *, wait_s: float = WAIT_S) -> None:
    """Make the JVM `pid` the owner of the checkpoint in `directory`.

    Raises:
        CheckpointInUse: another JVM runs the application, and still does after `wait_s`.
    """
    deadline = time.monotonic() + wait_s
    while (owner := _read(directory)) is not None and owner.pid != pid and owner.is_alive():
        if time.monotonic() > deadline:
            raise CheckpointInUse(
                f'application "{application_id}" runs in another process',
                query_id=application_id,
                detail=f"The JVM {owner.pid} holds checkpoint {directory}.",
                hint="Stop it first, or use another application id or data directory.",
            )
        time.sleep(_POLL_S)
    directory.mkdir(parents=True, exist_ok=True)
    mine = Owner.of(pid)
    arriving = directory / f".{OWNER_FILE}.{pid}"
    arriving.write_text(json.dumps({"pid": mine.pid, "began": mine.began}))
    arriving.replace(directory / OWNER_FILE)


def release(directory: Path, pid: int) -> None:
    """Give the checkpoint up; does nothing where another process owns it."""
    owner = _read(directory)
    if owner is not None and owner.pid == pid:
        (directory / OWNER_FILE).unlink(missing_ok=True)


def _read(directory: Path) -> Owner | None:
    try:
        written = json.loads((directory / OWNER_FILE).read_text())
        return Owner(int(written["pid"]), str(written["began"]))
    except (FileNotFoundError, ValueError, KeyError):
        return None


def _began(pid: int) -> str:
    """Return when a process began, where the system tells; empty elsewhere."""
    return _stat(pid, 19)


def _is_zombie(pid: int) -> bool:
    """Tell whether a process has ended and only its number is left, as nobody has asked for it.

    In a container whose first process takes no care of orphans, it stays so for ever.
    """
    return _stat(pid, 0) == "Z"


def _stat(pid: int, index: int) -> str:
    """Return a field of Linux's process status, from the state on; empty on other systems."""
    try:
        # They stand behind the name, which may hold anything.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[index]
    except (OSError, IndexError):
        return ""
