"""Verify the files at the top of a data directory.

file              damaged: the consequence              repair
meta.properties   the broker does not start             none
leader-epoch      the broker does not start             from last-start, which is never older
clean-shutdown    counts as missing                     removed
last-start        counts as missing                     removed
producer-ids      the broker does not start             removed: new ids start above all others
dynamic-configs   the broker does not start             none
client-quotas     the broker does not start             none
"""

import json
from collections.abc import Callable, Mapping
from typing import Final

from duolog.log.data_directory.last_start import LAST_START_FILE_NAME, LastStart, PlaceOfLog
from duolog.log.doctor import rebuilds
from duolog.log.doctor.finding import Findings, Place
from duolog.log.errors import DamagedFile, DataDirRefused
from duolog.log.files.checked_file import decode_checked, read_checked
from duolog.log.files.disk import Disk, read_file

META: Final = "meta.properties"
LEADER_EPOCH: Final = "leader-epoch"
CLEAN_SHUTDOWN: Final = "clean-shutdown"
PRODUCER_IDS: Final = "producer-ids"
KEPT_FILES: Final = (PRODUCER_IDS, "dynamic-configs", "client-quotas")
_KNOWN: Final = {META, LEADER_EPOCH, CLEAN_SHUTDOWN, LAST_START_FILE_NAME, *KEPT_FILES}
BACKUP_FILES: Final = (".backup", "backup-request", "backup-cut", ".restoring")
"""Left by a backup or a restore that was interrupted."""
_OTHERS: Final = {".lock", "checkpoints", "journal", "topics", *BACKUP_FILES}
_FORMAT: Final = 2


class RootFiles:
    """The files at the top of a data directory.

    Attributes:
        node_id: the broker's, from `meta.properties`.
        leader_epoch: that of the last start; the largest possible one if it is unknown.
        clean: the last broker was stopped in order.
        killed: it was not, but the machine has not restarted since.
        ends: where each log ended at that stop, or at the start of the killed broker.

    Raises:
        DataDirRefused: the directory is not one of Duolog, or has another format.
    """

    UNKNOWN_EPOCH: Final = 2**31 - 1

    def __init__(self, disk: Disk, data_dir: str, findings: Findings) -> None:
        self._disk = disk
        self._data_dir = data_dir
        self._findings = findings
        self.node_id = 0
        self._ensure_known_format()
        self._check_meta()
        start = self._read(LAST_START_FILE_NAME, LastStart.decode, remove=True)
        self._last_start = start if isinstance(start, LastStart) else None
        mark = self._read(CLEAN_SHUTDOWN, _clean_mark, remove=True)
        stopped = mark if isinstance(mark, LastStart) else None
        self.leader_epoch = self._read_leader_epoch(stopped and stopped.leader_epoch)
        self.clean = stopped is not None and stopped.leader_epoch == self.leader_epoch
        boot, last = disk.boot_id(), self._last_start
        self.killed = (
            not self.clean and last is not None and boot is not None and last.boot_id == boot
        )
        self.ends = self._noted_ends(stopped)
        self._read(PRODUCER_IDS, _number, remove=True)
        self._read("dynamic-configs", _json_object)
        self._read("client-quotas", _json_list)
        self._note_others()

    @property
    def settled(self) -> bool:
        """True if no power failure can have torn a write."""
        return self.clean or self.killed

    def _noted_ends(self, stopped: LastStart | None) -> Mapping[PlaceOfLog, int]:
        if self.clean and stopped is not None:
            return stopped.ends
        return self._last_start.ends if self.killed and self._last_start is not None else {}

    def _ensure_known_format(self) -> None:
        data = read_file(self._disk, f"{self._data_dir}/{META}")
        if data is None:
            raise DataDirRefused(
                f'directory "{self._data_dir}" is not a data directory of a broker',
                detail=f"It has no {META}.",
                hint="Name the directory that `duolog broker --data` or `duolog run --data` uses.",
            )
        if data.startswith(b"format.version=1\n"):
            raise DataDirRefused(
                f'data directory "{self._data_dir}" has the format 1',
                detail="Its small files have no checksums that could be verified.",
                hint="Start the broker once: it converts the directory.",
            )

    def _check_meta(self) -> None:
        content = self._read(META, _properties)
        if not isinstance(content, dict):
            return
        version = int(content["format.version"])
        if version > _FORMAT:
            raise DataDirRefused(
                f'data directory "{self._data_dir}" was written by a newer Duolog',
                detail=f"It has the format {version}; this version knows {_FORMAT}.",
                hint="Examine it with that version or a later one.",
            )
        self.node_id = int(content["node.id"])

    def _read(
        self, name: str, decode: Callable[[bytes], object], *, remove: bool = False
    ) -> object:
        """Return the decoded content; None if the file is missing or damaged."""
        problem = ""
        try:
            data = read_checked(self._disk, self._data_dir, name)
            return None if data is None else decode(data)
        except DamagedFile as error:
            problem = error.detail
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"Its content cannot be read: {error}."
        except OSError as error:
            problem = f"It cannot be read: {error}."
        if remove:
            repair = rebuilds.removal(self._data_dir, name)
            self._findings.rebuildable(Place(name), f"the file is damaged: {problem}", repair)
        else:
            self._findings.damage(Place(name), f"the file is damaged: {problem}")
        return None

    def _read_leader_epoch(self, clean_epoch: int | None) -> int:
        try:
            data = read_checked(self._disk, self._data_dir, LEADER_EPOCH)
            if data is not None:
                return _number(data)
            problem = "the file is missing"
        except (DamagedFile, ValueError, OSError) as error:
            problem = f"the file is damaged: {error}"
            data = b""
        known = [clean_epoch] if clean_epoch is not None else []
        if self._last_start is not None:
            known.append(self._last_start.leader_epoch)
        if data is None and not known:
            return -1  # The first start was interrupted before it wrote the file.
        if not known:
            self._findings.damage(Place(LEADER_EPOCH), problem)
            return self.UNKNOWN_EPOCH
        content = b"%d\n" % max(known)
        repair = rebuilds.checked(self._data_dir, LEADER_EPOCH, content)
        self._findings.rebuildable(Place(LEADER_EPOCH), problem, repair)
        return max(known)

    def _note_others(self) -> None:
        for name in self._disk.list(self._data_dir):
            if name.endswith(".tmp"):
                self._findings.note(Place(name), "a crash left this file incomplete")
            elif name not in _KNOWN | _OTHERS:
                self._findings.note(Place(name), "not a file of Duolog")


def meta_lines(disk: Disk, data_dir: str) -> dict[str, str] | None:
    """Return the content of `meta.properties`; None if it is damaged."""
    data = read_file(disk, f"{data_dir}/{META}") or b""
    try:
        return _properties(decode_checked(META, data))
    except (DamagedFile, ValueError, KeyError):
        return None


def _properties(data: bytes) -> dict[str, str]:
    rows = [line.split("=", 1) for line in data.decode().splitlines()]
    values = {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}
    int(values["format.version"]), int(values["node.id"]), values["cluster.id"]
    return values


def _number(data: bytes) -> int:
    if not data.strip().isdigit():
        raise ValueError("not a number")
    return int(data)


def _clean_mark(data: bytes) -> LastStart:
    """Return the epoch and the ends of a clean shutdown, in the form of those of a start."""
    epoch, _, lines = data.partition(b"\n")
    return LastStart.decode(epoch + b" -\n" + lines)


def _json_object(data: bytes) -> object:
    for named in json.loads(data).values():
        dict(named.items())
    return True


def _json_list(data: bytes) -> object:
    if not isinstance(json.loads(data), list):
        raise ValueError("not a list")  # noqa: TRY004 - a content, not an argument
    return True
