"""The boot of this machine: while it lasts, what a killed process wrote to files stays there.

Source: Linux `random(4)`, `/proc/sys/kernel/random/boot_id`; macOS `sysctl kern.bootsessionuuid`.
"""

import contextlib
import ctypes
import sys
from pathlib import Path
from typing import Final

_LINUX: Final = Path("/proc/sys/kernel/random/boot_id")
_MACOS: Final = b"kern.bootsessionuuid"
_TEXT_BYTES_MAX: Final = 64


def boot_id() -> str | None:
    """Return an id that changes with each boot of the host; None if the system has none."""
    with contextlib.suppress(OSError):
        return _LINUX.read_text().strip() or None
    return _of_macos() if sys.platform == "darwin" else None


def _of_macos() -> str | None:
    text = ctypes.create_string_buffer(_TEXT_BYTES_MAX)
    size = ctypes.c_size_t(_TEXT_BYTES_MAX)
    found = ctypes.CDLL(None).sysctlbyname(_MACOS, text, ctypes.byref(size), None, 0)
    return text.value.decode() or None if found == 0 else None
