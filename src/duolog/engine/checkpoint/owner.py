"""Ensure that one JVM at a time runs an application and writes to its checkpoint.

    CHECKPOINTS/<application id>/
        owner.lock       locked by the JVM for as long as it lives
        owner.process    locked by Python from before its JVM starts; names that process
        owner.json       number and name of the claim; machine, pid; for people too
        owner.N.beat     touched every two seconds by the owner numbered N
        owner.N.claim    at a URL, where there are no locks: created by the claimant of number N

    current owner                       what a start finds        what it does
    a process on this machine, in any   both locks are held       refuses
    container, even if it is paused
    one whose JVM is still starting     Python's lock is held     refuses, before its own JVM
                                                                  starts
    a JVM whose Python has just ended   its lock is held          waits, and refuses if it stays
                                                                  held
    a JVM that has just been killed     the lock is free          continues at once
    another host, over a shared file    the lock is free or not   watches the beat for LEASE_S;
    system                              supported                 refuses if it continues, else
                                                                  takes over
    any owner, at a URL                 no lock; the beat may     as for another host; of two
                                        continue or not           concurrent claims one creates
                                                                  `owner.N.claim`
    an owner that was paused, replaced  owner.json has another    its next write fails: the
    and resumes                         claim                     kernel checks before each one

The JVM's lock is decisive and not Python's, because the JVM briefly outlives a killed Python
process and could still write. A pid proves nothing: it is reused, and in another container it means
another process.
"""

import contextlib
import json
import os
import socket
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final, Literal, Protocol

from duolog.core.operating_system.boot import boot_id
from duolog.core.operating_system.locks import java_holds_lock, try_lock
from duolog.engine.checkpoint.checkpoint_files import writing
from duolog.engine.checkpoint.durable import make_durable_dir, sweep_unfinished, write_durably
from duolog.engine.checkpoint.remote.paths import RemotePath
from duolog.engine.errors import CheckpointInUse

OWNER_FILE: Final = "owner.json"
LOCK_FILE: Final = "owner.lock"
PROCESS_FILE: Final = "owner.process"
WAIT_S: Final = 30.0
LEASE_S: Final = 15.0
"""How long the beat of an owner on another host must be silent before it counts as dead."""
WATCH_S: Final = 5.0
"""How long to watch an owner that may be alive: two beats."""
_SETTLE_S: Final = 1.0
_POLL_S: Final = 0.1

Locked = Literal["locked", "held", "unsupported"]

# The locks of this process. It may claim a checkpoint again with another JVM.
_locked_here: Final[dict[Path, IO[bytes]]] = {}
# Names of the claims of this process. If it claims again, its previous JVM has ended.
_claims_here: Final[set[str]] = set()


class Holder(Protocol):
    """The JVM's side of a claim: the kernel's class `Checkpoint`."""

    def lock(self, directory: str) -> Locked: ...
    def own(self, directory: str, owner: str, number: int) -> None: ...
    def release(self, directory: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Owner:
    """A claim with a unique name and a number above those of earlier claims."""

    number: int
    claim: str
    machine: str
    host: str
    pid: int
    """The process id of its JVM."""
    released: bool = False
    process: int | None = None
    """The Python process that started the JVM and restarts it: stopping it stops both."""

    def __str__(self) -> str:
        if self.process is None:
            return f"process {self.pid} on host {self.host}, its JVM"
        return f"process {self.process} on host {self.host}"


def claim(
    directory: Path,
    holder: Holder,
    application_id: str,
    *,
    pid: int,
    wait_s: float = WAIT_S,
    lease_s: float = LEASE_S,
) -> None:
    """Make the JVM `pid` the owner of the checkpoint in `directory`.

    Raises:
        CheckpointInUse: another process runs the application, even after `wait_s`.
        CheckpointNotWritable: this user may not write there, or there is no space.
    """
    with writing(directory, application_id):
        make_durable_dir(directory)
        if not isinstance(directory, RemotePath):
            (directory / LOCK_FILE).touch()
    locked = _lock(directory, holder, application_id, wait_s)
    try:
        found = _read(directory)
        if found is not None and not _is_gone(found, locked):
            _wait_for_end_of_lease(directory, found, application_id, lease_s)
        number = 1 if found is None else found.number + 1
        if isinstance(directory, RemotePath):
            number = _claim_number(directory, number, application_id, lease_s)
        name, host = uuid.uuid4().hex, socket.gethostname()
        mine = Owner(number, name, _machine(), host, pid, process=os.getpid())
        with writing(directory, application_id):
            content = _write(directory, mine)
        if locked == "unsupported":
            # Of two concurrent claims the last write wins, and the other claimant sees that here.
            time.sleep(_SETTLE_S)
            _ensure_mine(directory, mine, application_id)
        _lock_here(directory)
        _claims_here.add(name)
        holder.own(str(directory), content, number)
    except BaseException:
        # Also after Ctrl-C: the next start must not find the checkpoint locked.
        _unlock_here(directory)
        holder.release(str(directory))
        raise
    for of_another in (*directory.glob("owner.*.beat"), *directory.glob("owner.*.claim")):
        if of_another.name.split(".")[1] != str(number):
            of_another.unlink(missing_ok=True)
    sweep_unfinished(directory, like=directory / OWNER_FILE)


def _claim_number(directory: RemotePath, number: int, application_id: str, lease_s: float) -> int:
    """Create the claim file of a free number, which exactly one claimant can.

    A claim file without a matching `owner.json` belongs to a start that was killed, or to one in
    progress.
    """
    deadline = time.monotonic() + lease_s
    while not _makes(directory / f"owner.{number}.claim", application_id):
        now = _read(directory)
        if now is not None and now.number >= number:
            raise _in_use(directory, application_id, now)
        if time.monotonic() > deadline:
            number += 1
        else:
            time.sleep(_POLL_S)
    return number


def _makes(file: RemotePath, application_id: str) -> bool:
    with writing(file.parent, application_id):
        try:
            file.create()
        except FileExistsError:
            return False
    return True


def ensure_no_live_owner(directory: Path, application_id: str, *, watch_s: float = WATCH_S) -> None:
    """Check, without a JVM, that no process on this machine (at a URL: anywhere) is the owner.

    `claim` covers what only waiting can show, such as an owner on another host or a JVM that is
    ending. At a URL an owner that has not released the checkpoint is watched for `watch_s`.

    Raises:
        CheckpointInUse: another process runs the application.
    """
    found = _read(directory)
    if isinstance(directory, RemotePath):
        if found is not None and not found.released:
            _wait_for_end_of_lease(directory, found, application_id, watch_s)
        return
    of_this_machine = found is not None and found.machine == _machine()
    if of_this_machine and _has_jvm(directory) and _is_locked_elsewhere(directory):
        raise _in_use(directory, application_id, _process_of(directory) or found)


def reserve(directory: Path, application_id: str) -> bool:
    """Keep other processes on this machine from starting the application, without a JVM.

    A later `claim` includes it, and `release` or `give_back` ends it.

    Returns:
        False if this process had already reserved it.

    Raises:
        CheckpointInUse: another process runs the application or is starting it.
        CheckpointNotWritable: this user may not write there, or there is no space.
    """
    with writing(directory, application_id):
        make_durable_dir(directory)
    if directory in _locked_here:
        return False
    # A process that only checks, such as `ensure_no_live_owner`, holds the lock for a moment.
    deadline = time.monotonic() + _SETTLE_S
    while _is_locked_elsewhere(directory):
        if time.monotonic() > deadline:
            raise _in_use(directory, application_id, _process_of(directory))
        time.sleep(_POLL_S)
    # Of two processes that get here at once one takes the lock, and `claim` refuses the other.
    _lock_here(directory)
    return directory in _locked_here


def give_back(directory: Path) -> None:
    """Undo `reserve` for a start that did not reach its claim."""
    _unlock_here(directory)


def release(directory: Path, holder: Holder, pid: int) -> None:
    """Release the checkpoint; does nothing if another process owns it."""
    found = _read(directory)
    try:
        if found is not None and found.machine == _machine() and found.pid == pid:
            _write(directory, Owner(**asdict(found) | {"released": True}))
    finally:
        # Even if nothing can be written: the next start must not find the checkpoint locked.
        _unlock_here(directory)
        holder.release(str(directory))


def taken_over_by(directory: Path, pid: int) -> Owner | None:
    """Return the owner that claimed a checkpoint after the JVM `pid` of this machine, or None."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        found = _read(directory)
        if found is not None and (found.pid, found.machine) != (pid, _machine()):
            return found
    return None


def _lock(directory: Path, holder: Holder, application_id: str, wait_s: float) -> Locked:
    deadline = time.monotonic() + wait_s
    while (locked := holder.lock(str(directory))) == "held":
        lives = _is_locked_elsewhere(directory)
        if time.monotonic() > deadline or lives:
            # `owner.process` names the last process that locked it, which may be this one.
            known = _process_of(directory) if lives else ""
            raise _in_use(directory, application_id, known or _read(directory))
        time.sleep(_POLL_S)
    return locked


def _lock_here(directory: Path) -> None:
    if directory not in _locked_here:
        # If the file system has no locks, the JVM has none either.
        with contextlib.suppress(OSError):
            _locked_here[directory] = _flocked(directory)


def _unlock_here(directory: Path) -> None:
    if directory in _locked_here:
        _locked_here.pop(directory).close()


def _is_locked_elsewhere(directory: Path) -> bool:
    """Return whether the Python process of an owner is alive; false if only its JVM is left."""
    if directory in _locked_here:
        return False
    try:
        _flocked(directory).close()
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _has_jvm(directory: Path) -> bool:
    """Return whether a JVM holds the lock."""
    try:
        with (directory / LOCK_FILE).open("rb") as file:
            return java_holds_lock(file.fileno())
    except OSError:
        return False


def _flocked(directory: Path) -> IO[bytes]:
    file = (directory / PROCESS_FILE).open("ab")
    try:
        try_lock(file.fileno())
    except OSError:
        file.close()
        raise
    # For people. If it cannot be written, the claim fails with the path.
    with contextlib.suppress(OSError):
        file.truncate(0)
        file.write(f"process {os.getpid()} on host {socket.gethostname()}\n".encode())
        file.flush()
    return file


def _process_of(directory: Path) -> str:
    try:
        return (directory / PROCESS_FILE).read_text().strip()
    except OSError:
        return ""


def _ensure_mine(directory: Path, mine: Owner, application_id: str) -> None:
    if (now := _read(directory)) != mine:
        raise _in_use(directory, application_id, now)


def _is_gone(found: Owner, locked: Locked) -> bool:
    # The lock of this machine's processes was free; the lock of another machine proves nothing
    # here.
    of_here = locked == "locked" or found.claim in _claims_here
    return found.released or (of_here and found.machine == _machine())


def _wait_for_end_of_lease(
    directory: Path, found: Owner, application_id: str, lease_s: float
) -> None:
    """Watch the beat of an owner that no lock proves. Clocks of hosts are not compared."""
    beat = directory / f"owner.{found.number}.beat"
    first, deadline = _touched_at(beat), time.monotonic() + lease_s
    while time.monotonic() < deadline:
        if _touched_at(beat) != first or _read(directory) != found:
            now = _read(directory)
            if now is not None and now.released:
                return
            raise _in_use(directory, application_id, now)
        time.sleep(_POLL_S)


def _touched_at(beat: Path) -> object:
    """Return a value that changes while the owner lives: at a URL, the content of its beat."""
    try:
        return beat.read_bytes() if isinstance(beat, RemotePath) else beat.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _in_use(directory: Path, application_id: str, owner: Owner | str | None) -> CheckpointInUse:
    return CheckpointInUse(
        f'application "{application_id}" runs in another process',
        query_id=application_id,
        detail="An application runs in one process at a time: a second one would not share the "
        f"work, it would repeat all of it. Checkpoint {directory} is held by {owner or 'it'}.",
        hint='Stop it first. Give another application its own name, Topology("…"), or data '
        "directory. "
        "To scale one application, use partitions and the setting master, not processes.",
    )


def _read(directory: Path) -> Owner | None:
    try:
        return Owner(**json.loads((directory / OWNER_FILE).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write(directory: Path, owner: Owner) -> str:
    content = json.dumps(asdict(owner), indent=1)
    write_durably(directory / OWNER_FILE, content)
    return content


def _machine() -> str:
    """Return an id shared by all processes under one kernel, which therefore share locks."""
    return boot_id() or f"{socket.gethostname()} {uuid.getnode():x}"
