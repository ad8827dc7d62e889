"""Limits of the system for this process: memory and file descriptors.

Source: `getrlimit(2)`.
"""

import sys

if sys.platform == "win32":

    def limit_memory(size_bytes: int) -> None:
        """Windows has no such limit."""

    def descriptors_max() -> int | None:
        """Return None: Windows has no such limit."""
        return None

    def raise_descriptors_max() -> int | None:
        """Return None: Windows has no such limit."""
        return None

else:
    import resource
    from contextlib import suppress
    from typing import Final

    _MACOS_FILES_MAX: Final = 10_240
    """OPEN_MAX of macOS: it refuses a higher soft limit, even where the hard limit is infinite."""

    def limit_memory(size_bytes: int) -> None:
        """Limit the data of this process. macOS may refuse the limit or ignore it."""
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, size_bytes))
        else:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, size_bytes))

    def descriptors_max() -> int | None:
        """Return how many file descriptors this process may open; None if there is no limit."""
        return _number(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    def raise_descriptors_max() -> int | None:
        """Raise the limit of file descriptors as far as allowed, and return it; None: no limit."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == hard:
            return _number(soft)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _MACOS_FILES_MAX), hard))
            return descriptors_max()
        return _number(hard)

    def _number(limit: int) -> int | None:
        return None if limit == resource.RLIM_INFINITY else limit
