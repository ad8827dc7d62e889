"""A machine that a process believes to be on: a host name, a kernel's boot id, a working directory and temporary files of its own.

    unshare --mount --uts ─▶ the name is another one, another file lies over
    /proc/sys/kernel/random/boot_id ─▶ the command

To `engine.owner` that is another machine: no local lock shows whether its owner runs, only the
heartbeat in the shared directory. Network, processes and file system are those of this machine, as a
shared directory requires.
"""

import os
import shlex
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class OtherMachine:
    """The machine `name`, whose files lie in `directory`."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.work = directory / name / "work"
        self._temporary = directory / name / "tmp"
        for made in (self.work, self._temporary):
            made.mkdir(parents=True, exist_ok=True)
        self.boot_id = str(uuid.uuid4())
        self._boot_id = directory / name / "boot_id"
        self._boot_id.write_text(f"{self.boot_id}\n")

    @property
    def environment(self) -> Mapping[str, str]:
        return {"TMPDIR": str(self._temporary)}

    def command(self, command: Sequence[str]) -> list[str]:
        """Return how a command is started there; the process that is started becomes it."""
        # Who is not root is it in a name space of users, which has the other two.
        whose = [] if os.geteuid() == 0 else ["--map-root-user"]
        moved = (
            f"mount --bind {shlex.quote(str(self._boot_id))} {BOOT_ID} && "
            f'hostname {shlex.quote(self.name)} && exec "$@"'
        )
        return ["unshare", *whose, "--mount", "--uts", "sh", "-c", moved, "sh", *command]

    def ensure_is_another(self) -> None:
        """See that the boot id there is not the one of this machine."""
        found = subprocess.run(
            self.command(["cat", str(BOOT_ID)]), capture_output=True, text=True, check=True
        ).stdout
        assert found == self._boot_id.read_text() != BOOT_ID.read_text()
