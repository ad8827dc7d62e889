"""Divide the file descriptors of the process between connections and segments.

segments     half, at most `log.open.files.max`
all else     an eighth, at most 128: listeners, pipes, what a sync or a swap opens, the spare ones
connections  the rest, at most `max.connections`
"""

import resource

from duolog.log.files.open_files import OPEN_FILES_MAX

_OTHERS_MAX = 128


def open_files_max(wanted: int) -> int:
    """Return how many segment files may be open; raises the soft limit of the process first.

    `wanted` is the setting `log.open.files.max`; 0 selects the default.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _segments(hard, wanted)


def connections_max(wanted: int) -> int | None:
    """Return how many connections leave enough descriptors for the logs; None for no limit.

    `wanted` is the setting `log.open.files.max`.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    return max(1, soft - _segments(soft, wanted) - min(soft // 8, _OTHERS_MAX))


def _segments(hard: int, wanted: int) -> int:
    allowed = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else max(hard // 2, 16)
    return min(wanted or OPEN_FILES_MAX, allowed)
