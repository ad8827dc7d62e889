"""The identity of a data directory, and the lock for its exclusive use.

    .lock             held by the broker that runs
    meta.properties   format, cluster id, node id
    leader-epoch      how often a broker has started here; each start raises it by one
    clean-shutdown    there only between a clean stop and the next start; the leader epoch that
                      stopped, then a line for each log that has records: topic id, partition,
                      log end offset
    last-start        the boot of the machine and the ends of all logs, from the last start; see
                      `last_start`
    journal/          see `journal`
    topics/           see `topics`

All small files have the form of `checked_file`. A directory of the first format, in which they had
no checksum, is brought to the second one by its first start.

A killed process leaves data and directory entries in the page cache only. The next start syncs
them, directories included, before it relies on them; otherwise it could acknowledge records in a
file that a power failure removes.
"""

import base64
import uuid
from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from duolog.log.data_directory.last_start import (
    LastStart,
    PlaceOfLog,
    read_last_start,
    write_last_start,
)
from duolog.log.data_directory.upgrade import upgrade
from duolog.log.errors import DamagedFile, DataDirInUse, DataDirRefused
from duolog.log.files.checked_file import decode_checked, read_checked, write_checked
from duolog.log.files.disk import DirLock, Disk, make_durable_dir, read_file

FORMAT_VERSION: Final = 2

_LOCK: Final = ".lock"
_META: Final = "meta.properties"
_PLAIN_META: Final = b"format.version=1\n"
"""The start of the file in a directory of the first format."""
_BROKER: Final = "broker"
"""The broker's directory below that of other commands."""
_LEADER_EPOCH: Final = "leader-epoch"
_CLEAN_SHUTDOWN: Final = "clean-shutdown"


class MetaProperties(NamedTuple):
    """The content of `meta.properties`."""

    cluster_id: str
    node_id: int


class DataDir:
    """An opened data directory: locked, of a format that we know, its leader epoch raised.

    Attributes:
        clean: the last broker here was stopped in order.
        killed: it was not, but the machine has not restarted since: all that it wrote is there.
        ends: where each log ended when the broker stopped (`clean`) or last started (`killed`).
        damaged: logs that were refused for their damage, and were not restored by then.

    Raises:
        DataDirRefused: another broker uses it, it is newer, or it holds something else.
        OSError: the disk refused.
    """

    def __init__(self, disk: Disk, path: str, *, node_id: int = 0) -> None:
        self._disk = disk
        self.path = path
        make_durable_dir(disk, path)
        self._lock = self._take_lock()
        try:
            self.meta = self._open_meta(node_id)
            last = self._last_leader_epoch()
            self.clean, self.ends = self._take_clean_mark(last)
            self.killed = False
            self.damaged: Set[PlaceOfLog] = frozenset()
            self.leader_epoch = last + 1
            self._read_last_start(last)
            if self.killed:  # This start may be killed, too, before it has recovered all logs.
                self.note_start(self.ends, self.damaged)
            # Durable before anything is served: two starts never share an epoch.
            write_checked(disk, path, _LEADER_EPOCH, b"%d\n" % self.leader_epoch)
        except BaseException:  # Also an interrupt: the lock is given back.
            self._lock.release()
            raise

    def _take_lock(self) -> DirLock:
        try:
            return self._disk.lock(f"{self.path}/{_LOCK}")
        except BlockingIOError as error:
            pid = getattr(error, "pid", None)
            holder = "Another broker" if pid is None else f"The broker in process {pid}"
            raise DataDirInUse(
                f'data directory "{self.path}" is in use',
                detail=f"{holder} holds its lock.",
                hint="Stop that broker, or start this one with another data directory.",
            ) from None

    def _open_meta(self, node_id: int) -> MetaProperties:
        data = read_file(self._disk, f"{self.path}/{_META}")
        if data is not None:
            if data.startswith(_PLAIN_META):
                upgrade(self._disk, self.path)
                self._write_meta(self._parse_meta(data, node_id))
                data = read_file(self._disk, f"{self.path}/{_META}") or b""
            content = decode_checked(f"{self.path}/{_META}", data)
            return self._parse_meta(content, node_id)
        others = set(self._disk.list(self.path)) - {_LOCK, f"{_META}.tmp"}
        if others:
            raise DataDirRefused(
                f'directory "{self.path}" is not a data directory of Duolog',
                detail=f'It has no {_META}, but it holds "{min(others)}".',
                hint=self._hint(others),
            )
        meta = MetaProperties(_new_cluster_id(), node_id)
        self._write_meta(meta)
        return meta

    def _hint(self, others: Set[str]) -> str:
        """Return what to do with a directory that is not one of a broker."""
        broker = f"{self.path}/{_BROKER}"
        if _BROKER in others and read_file(self._disk, f"{broker}/{_META}") is not None:
            return (
                "It is the directory of `duolog start` or `duolog run`, and the broker's is "
                f'"{broker}": start the same command again, or name that directory.'
            )
        return "Give an empty directory, or one that does not exist yet."

    def _write_meta(self, meta: MetaProperties) -> None:
        lines = (
            f"format.version={FORMAT_VERSION}",
            f"cluster.id={meta.cluster_id}",
            f"node.id={meta.node_id}",
            "",
        )
        write_checked(self._disk, self.path, _META, "\n".join(lines).encode())

    def _parse_meta(self, data: bytes, node_id: int) -> MetaProperties:
        rows = [line.split("=", 1) for line in data.decode(errors="replace").splitlines()]
        values = {row[0].strip(): row[1].strip() for row in rows if len(row) == 2}
        try:
            version, found = int(values["format.version"]), int(values["node.id"])
            cluster_id = values["cluster.id"]
        except (KeyError, ValueError):
            raise DataDirRefused(
                f'file "{self.path}/{_META}" cannot be read',
                hint="Restore the file from a copy of the data directory.",
            ) from None
        if version > FORMAT_VERSION:
            raise DataDirRefused(
                f'data directory "{self.path}" was written by a newer Duolog',
                detail=f"It has the format {version}; this version knows {FORMAT_VERSION}.",
                hint="Start it with that version or a later one.",
            )
        if found != node_id:
            raise DataDirRefused(
                f'data directory "{self.path}" belongs to node {found}, not to {node_id}',
                hint=f"Set node.id to {found}, or use another data directory.",
            )
        return MetaProperties(cluster_id, found)

    def _last_leader_epoch(self) -> int:
        hint = "Restore the file from a copy; a number that was in use before may not come back."
        data = read_checked(self._disk, self.path, _LEADER_EPOCH, hint=hint)
        if data is None:
            return -1
        if not data.strip().isdigit():
            raise DamagedFile(f"{self.path}/{_LEADER_EPOCH}", "It holds no number.", hint=hint)
        return int(data)

    def _take_clean_mark(self, leader_epoch: int) -> tuple[bool, dict[PlaceOfLog, int]]:
        """Remove the mark of a clean stop; return whether it is of the last start, and the ends."""
        try:
            mark = read_checked(self._disk, self.path, _CLEAN_SHUTDOWN)
        except DamagedFile:
            mark = b""  # All the more is read.
        if mark is None:
            return False, {}
        self._disk.remove(f"{self.path}/{_CLEAN_SHUTDOWN}")
        epoch, _, ends = mark.partition(b"\n")
        if epoch != b"%d" % leader_epoch:
            return False, {}
        lines = [line.split() for line in ends.decode().splitlines()]
        return True, {(topic, int(partition)): int(end) for topic, partition, end in lines}

    def _read_last_start(self, leader_epoch: int) -> None:
        start = read_last_start(self._disk, self.path)
        if start is None:
            return
        self.damaged = start.damaged
        boot = self._disk.boot_id()
        if not self.clean and start.leader_epoch >= leader_epoch and boot is not None:
            self.killed = start.boot_id == boot
        if not self.clean:
            kept = start.ends if self.killed else self.damaged
            self.ends = {place: start.ends[place] for place in kept}

    @property
    def has_all_writes(self) -> bool:
        """True if no power failure can have lost writes of the last run."""
        return self.clean or self.killed

    def note_start(
        self,
        ends: Mapping[PlaceOfLog, int],
        damaged: Set[PlaceOfLog],
        *,
        recovered: bool = True,
    ) -> None:
        """Write `last-start`: all logs are recovered, but those that are `damaged`.

        If others are not `recovered`, what a power failure has torn in them is still to be
        truncated.

        Raises:
            OSError: the disk refused.
        """
        boot = self._disk.boot_id() if recovered else None
        start = LastStart(self.leader_epoch, boot, ends, damaged)
        write_last_start(self._disk, self.path, start)

    def mark_clean(self, ends: Mapping[PlaceOfLog, int]) -> None:
        """Record that all logs were closed, and their ends: the next start need not scan tails."""
        lines = [f"{topic} {partition} {end}\n" for (topic, partition), end in ends.items()]
        content = f"{self.leader_epoch}\n{''.join(lines)}"
        write_checked(self._disk, self.path, _CLEAN_SHUTDOWN, content.encode())

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()


def _new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
