import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import waiting
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.errors import BrokerUnavailable

FAKE_BROKER = """
import os, signal, sys, threading
address = sys.argv[sys.argv.index("--listen") + 1].replace(":0", ":4567")
def watch():
    while os.read(0, 100):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=watch, daemon=True).start()
def stop(*_):
    print("stopped in order", file=sys.stderr, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
print(" ".join(sys.argv[1:]), file=sys.stderr, flush=True)
print(f"duolog broker ready on {address}", flush=True)
while True:
    signal.pause()
"""


def fake_broker(directory: Path, text: str = FAKE_BROKER) -> tuple[str, ...]:
    path = directory / "fake_broker.py"
    path.write_text(text)
    return (sys.executable, str(path))


def gone(pid: int) -> bool:
    """Return True if the process has ended: it does not exist, or is a zombie that init has not collected yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_a_relative_data_directory_survives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_broker(tmp_path)
    monkeypatch.chdir(tmp_path)
    with BrokerProcess("data", program=program) as broker:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        broker.restart()

        assert broker.data_dir == tmp_path / "data"
        assert broker.log_path.read_text().count(f"--data {tmp_path / 'data'} ") == 2


def test_start_returns_when_the_broker_reports_its_address(tmp_path: Path) -> None:
    program = fake_broker(tmp_path)

    with BrokerProcess(tmp_path / "data", settings={"a": "1"}, program=program) as broker:
        assert not gone(broker.pid)
        assert broker.bootstrap_servers == "127.0.0.1:4567"

    assert not broker.running
    log = broker.log_path.read_text()
    assert f"--data {tmp_path / 'data'} --listen 127.0.0.1:0 --set a=1" in log


def test_stop_lets_the_broker_shut_down_cleanly(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path))
    broker.start()

    status = broker.stop()

    assert status == 0
    assert "stopped in order" in broker.log_path.read_text()


def test_stop_kills_a_broker_that_does_not_end(tmp_path: Path) -> None:
    ignores_signals = FAKE_BROKER.replace("os._exit(0)", "pass")
    broker = BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path, ignores_signals))
    broker.start()

    status = broker.stop(timeout_s=0.2)

    assert status == -signal.SIGKILL


def test_a_killed_broker_comes_back_on_the_same_address(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path))
    broker.start()
    first = broker.pid

    broker.kill()
    broker.restart()

    assert first != broker.pid
    assert broker.bootstrap_servers == "127.0.0.1:4567"
    assert "--listen 127.0.0.1:4567" in broker.log_path.read_text()
    broker.stop()


def test_a_broker_that_exits_at_once_is_reported_with_its_last_output(tmp_path: Path) -> None:
    broken = "import sys; sys.exit('error: the log directory is locked')"
    broker = BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path, broken))

    with pytest.raises(BrokerUnavailable, match="did not start") as caught:
        broker.start()

    assert caught.value.detail == "error: the log directory is locked"
    assert str(broker.log_path) in caught.value.hint
    assert not broker.running


def test_a_broker_that_is_not_ready_in_time_is_ended(tmp_path: Path) -> None:
    slow = "import time; time.sleep(60)"
    broker = BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path, slow))

    with pytest.raises(BrokerUnavailable, match="not ready in time"):
        broker.start(timeout_s=0.2)

    assert not broker.running


def test_the_broker_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = tmp_path / "parent.py"
    parent.write_text(
        dedent(f"""
        import time
        from pathlib import Path
        from duolog.runtime.broker_process import BrokerProcess
        broker = BrokerProcess(Path({str(tmp_path / "data")!r}), program={fake_broker(tmp_path)!r})
        broker.start()
        print(broker.pid, flush=True)
        time.sleep(60)
        """)
    )
    with subprocess.Popen([sys.executable, str(parent)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        broker_pid = int(process.stdout.readline())

        os.kill(process.pid, signal.SIGKILL)

        waiting.wait_until(
            lambda: gone(broker_pid), lambda: f"broker {broker_pid} outlived its parent"
        )


LATE_ANSWERS = """
import sys
print("duolog broker ready on 127.0.0.1:4567", flush=True)
print("cannot read the clock", file=sys.stderr, flush=True)
late = False
for line in sys.stdin:
    if late:
        print("late", flush=True)
    late = line == "late\\n"
    print("answer to ", end="" if late else line, flush=True)
"""


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path, LATE_ANSWERS)) as broker:
        with pytest.raises(BrokerUnavailable, match="does not answer") as caught:
            broker.ask(b"late", timeout_s=0.1)
        answers = [broker.ask(b"one"), broker.ask(b"two")]

        assert answers == [b"answer to one", b"answer to two"]
        assert caught.value.detail == "cannot read the clock"


def test_a_restarted_program_owes_no_answer(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", program=fake_broker(tmp_path, LATE_ANSWERS)) as broker:
        with pytest.raises(BrokerUnavailable, match="does not answer"):
            broker.ask(b"late", timeout_s=0.1)

        broker.kill()
        broker.restart()

        assert broker.ask(b"one") == b"answer to one"
