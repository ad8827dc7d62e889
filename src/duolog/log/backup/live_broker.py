"""Ask a running broker for a cut, through a file in its data directory.

Thread: one.
"""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from duolog.log.backup.cut import CUT_FILE_NAME, REQUEST_FILE_NAME, Cut, read_answer
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import Disk, replace_file

_POLL_S: Final = 0.002
ANSWER_S: Final = 60.0


def ask_for_cut(
    disk: Disk, data_dir: str, meanwhile: Callable[[], None], *, timeout_s: float = ANSWER_S
) -> Cut:
    """Return the cut that the running broker takes; calls `meanwhile` again and again until then.

    Raises:
        BackupRefused: the broker does not answer.
        DamagedFile: its answer is damaged.
        OSError: the disk refused.
    """
    request = uuid.uuid4().hex
    replace_file(disk, data_dir, REQUEST_FILE_NAME, request.encode())
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            meanwhile()
            cut = read_answer(disk, data_dir, request)
            if cut is not None:
                return cut
            if time.monotonic() > deadline:
                raise BackupRefused(
                    f'the broker of "{data_dir}" does not answer',
                    detail=f"It was asked for the ends of its logs {timeout_s:g} s ago.",
                    hint="If it is busy, try again. If it is of an older version, stop it: the "
                    "backup then needs no answer.",
                )
            time.sleep(_POLL_S)
    finally:
        for name in (REQUEST_FILE_NAME, CUT_FILE_NAME):
            with suppress(FileNotFoundError):  # The broker may take the request just now.
                disk.remove(f"{data_dir}/{name}")
