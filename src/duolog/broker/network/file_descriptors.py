"""How the process shares its file descriptors between connections and segments."""

import resource

from duolog.log.open_files import OPEN_FILES_MAX


def open_files_max(wanted: int) -> int:
    """Return how many segment files may be open; raises the soft limit of the process first.

    Half of what the process may have is left to connections and all else. `wanted` is what the
    setting says, 0 where that is left to us.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else max(hard // 2, 16)
    return min(wanted or OPEN_FILES_MAX, allowed)
