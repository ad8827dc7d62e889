"""Divide the file descriptors of the process between connections and segments.

segments     half, at most `log.open.files.max`
all else     an eighth, at most 128: listeners, pipes, what a sync or a swap opens, the spare ones
connections  the rest, at most `max.connections`
"""

from duolog.core.operating_system.limits import descriptors_max, raise_descriptors_max
from duolog.log.files.open_files import OPEN_FILES_MAX

_OTHERS_MAX = 128


def open_files_max(wanted: int) -> int:
    """Return how many segment files may be open; raises the soft limit of the process first.

    `wanted` is the setting `log.open.files.max`; 0 selects the default.
    """
    return _segments(raise_descriptors_max(), wanted)


def connections_max(wanted: int) -> int | None:
    """Return how many connections leave enough descriptors for the logs; None for no limit.

    `wanted` is the setting `log.open.files.max`.
    """
    limit = descriptors_max()
    if limit is None:
        return None
    return max(1, limit - _segments(limit, wanted) - min(limit // 8, _OTHERS_MAX))


def _segments(limit: int | None, wanted: int) -> int:
    allowed = OPEN_FILES_MAX if limit is None else max(limit // 2, 16)
    return min(wanted or OPEN_FILES_MAX, allowed)
