import errno
import os

import pytest

from duolog.broker.errors import kafka_code
from duolog.log.data_directory.health import DirHealth
from duolog.log.errors import LogDirOffline


def failed(code: int) -> LogDirOffline:
    return DirHealth().fail(OSError(code, os.strerror(code)), 'writing to "t-1"')


def test_the_reason_is_in_the_error_sent_to_clients() -> None:
    """A topic could not be created as the "log directory went offline", and the disk was full."""
    reported = failed(errno.ENOSPC)

    assert reported.message == (
        'log directory went offline while writing to "t-1": no space left on device'
    )


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_how_to_free_space(code: int, caplog: pytest.LogCaptureFixture) -> None:
    """`DeleteTopics` was answered with the code 56 alone."""
    _, message = kafka_code(failed(code))

    (record,) = caplog.records
    assert message is not None
    assert "remove the whole folder topics/ID" in message
    assert record.__dict__["hint"] in message


def test_a_broken_disk_is_not_taken_for_a_full_one() -> None:
    assert failed(errno.EIO).hint == "Repair the disk, then restart the broker."
