import errno
import os

from duolog.log.health import DirHealth


def test_the_reason_stands_in_what_clients_are_told() -> None:
    """A topic could not be created as the "log directory went offline", and the disk was full."""
    refused = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = DirHealth().fail(refused, 'writing to "t-1"')

    assert told.message == (
        'log directory went offline while writing to "t-1": no space left on device'
    )
