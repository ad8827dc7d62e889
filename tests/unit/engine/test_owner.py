import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from duolog.engine.errors import CheckpointInUse
from duolog.engine.owner import claim, release


def test_a_checkpoint_of_a_process_that_lives_is_refused(tmp_path: Path) -> None:
    claim(tmp_path, os.getppid(), "flights")

    with pytest.raises(CheckpointInUse, match="runs in another process"):
        claim(tmp_path, os.getpid(), "flights", wait_s=0)


def test_a_checkpoint_of_a_process_that_is_gone_is_free(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    claim(tmp_path, other.pid, "flights")
    other.communicate(b"\n")

    claim(tmp_path, os.getpid(), "flights", wait_s=0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_checkpoint_of_a_process_that_ended_and_was_never_waited_for_is_free(
    tmp_path: Path,
) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    claim(tmp_path, other.pid, "flights")
    os.kill(other.pid, signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)

    claim(tmp_path, os.getpid(), "flights", wait_s=0)

    other.communicate()


def test_the_owner_may_start_again_and_gives_up_only_its_own(tmp_path: Path) -> None:
    claim(tmp_path, os.getppid(), "flights")
    claim(tmp_path, os.getppid(), "flights", wait_s=0)

    release(tmp_path, os.getpid())
    with pytest.raises(CheckpointInUse):
        claim(tmp_path, os.getpid(), "flights", wait_s=0)

    release(tmp_path, os.getppid())
    claim(tmp_path, os.getpid(), "flights", wait_s=0)
    assert [path.name for path in tmp_path.iterdir()] == ["owner.json"]


def test_a_number_that_came_back_is_another_process(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text(f'{{"pid": {os.getppid()}, "began": "long ago"}}')

    claim(tmp_path, os.getpid(), "flights", wait_s=0)


def test_half_an_owner_file_is_no_owner(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text('{"pid": 1')

    claim(tmp_path, os.getpid(), "flights", wait_s=0)
