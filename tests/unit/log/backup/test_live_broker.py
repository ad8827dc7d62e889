"""A running broker is asked for a cut by a file, which never stays."""

from pathlib import Path

import pytest

from duolog.log.backup.cut import CUT_FILE_NAME, REQUEST_FILE_NAME
from duolog.log.backup.live_broker import ask_for_cut
from duolog.log.backup.log_source import Moved
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import RealDisk


class Taking(RealDisk):
    """A disk on which the broker takes the request just before it is removed."""

    def remove(self, path: str) -> None:
        if path.endswith(REQUEST_FILE_NAME):
            super().remove(path)
        super().remove(path)


def _nothing() -> None:
    pass


def test_a_broker_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="does not answer"):
        ask_for_cut(RealDisk(), str(tmp_path), _nothing, timeout_s=0.0)

    assert list(tmp_path.iterdir()) == []


def test_a_request_that_the_broker_takes_last_does_not_hide_the_reason(tmp_path: Path) -> None:
    def stopped() -> None:
        (tmp_path / CUT_FILE_NAME).touch()
        raise Moved("the broker has stopped")

    with pytest.raises(Moved, match="has stopped"):
        ask_for_cut(Taking(), str(tmp_path), stopped)

    assert list(tmp_path.iterdir()) == []
