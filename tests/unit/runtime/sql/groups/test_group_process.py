import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import waiting
from duolog.core.errors import QueryError
from duolog.core.operating_system.processes import is_alive
from duolog.runtime.sql.groups.errors import GroupEnded
from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.remote_query import RemoteQuery
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from unit.runtime.sql.groups.groups import FAKE, setup_of, wait_for

LAUNCHER = """
import sys
from pathlib import Path
from unit.runtime.sql.groups.groups import Launches
from duolog.runtime.sql.groups.limits import GroupLimits

process = Launches(Path(sys.argv[1]))("heavy", GroupLimits())
process.request({"do": "start", "query": "OK_0", "offset": 0})
print(process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[GroupProcess]:
    process = GroupProcess(setup_of("heavy", tmp_path), tmp_path / "heavy.log", FAKE)
    yield process
    process.kill("the test has ended")


def test_a_query_runs_reports_progress_and_stops(process: GroupProcess) -> None:
    query = RemoteQuery(process, "OK_0", 12)

    assert (query.state, query.has_ended, query.exception()) == ("running", False, None)
    progress = query.progress()
    assert (progress.records_in, progress.lag_records) == (12, {"t": 3})
    assert [(one.reason, one.offset) for one in progress.skipped_because] == [
        ("a sum overflows", 7)
    ]
    metrics = query.metrics()
    assert metrics is not None
    assert (metrics.records_in, metrics.lag_records) == (3, 5)
    query.stop()
    assert query.has_ended
    assert query.exception() is None


def test_a_query_that_does_not_start_reports_the_error_with_its_hint(process: GroupProcess) -> None:
    with pytest.raises(QueryError, match="its topic is gone") as raised:
        RemoteQuery(process, "REFUSED_0", 0)

    assert raised.value.hint == "Create it."
    assert not process.has_ended


def test_a_query_that_fails_ends_alone(process: GroupProcess) -> None:
    failed, other = RemoteQuery(process, "FAILS_0", 0), RemoteQuery(process, "OK_0", 0)

    wait_for(lambda: failed.has_ended, "the failure is not reported")
    error = failed.exception()
    assert error is not None
    assert (error.message, error.detail, error.hint) == (
        "a sum overflows",
        "In SUM.",
        "Use DECIMAL.",
    )
    assert not other.has_ended


def test_runs_that_have_ended_are_forgotten(process: GroupProcess) -> None:
    """Each restart of a failing query used to lengthen all later beats."""
    other = RemoteQuery(process, "OK_0", 0)
    runs = [RemoteQuery(process, "FAILS_0", 0) for _ in range(5)]

    wait_for(lambda: len(process.known_runs) == 3, "the runs are not forgotten")
    assert all(run.has_ended for run in runs)
    assert [run.exception() is None for run in runs] == [True, True, True, False, False]
    assert not other.has_ended


def test_an_older_state_does_not_revive_a_stopped_query(process: GroupProcess) -> None:
    query = RemoteQuery(process, "OK_0", 0)
    query.stop()

    late = {"1": {"state": "running", "ended": False, "error": None}}
    process._take({"jvm_silent_s": 0, "runs": late})  # noqa: SLF001 - a beat that was late

    assert query.has_ended


def test_a_process_that_sends_an_invalid_message_is_killed(process: GroupProcess) -> None:
    """Nothing used to receive afterwards: the request would wait for ever."""
    with pytest.raises(GroupEnded, match="invalid message"):
        RemoteQuery(process, "GARBLED_0", 0)


def test_all_queries_end_with_the_reason_of_the_jvm(process: GroupProcess) -> None:
    other = RemoteQuery(process, "OK_0", 0)
    RemoteQuery(process, "OOM_0", 0)

    wait_for(lambda: other.has_ended, "the end of the JVM is not reported")
    error = other.exception()
    assert isinstance(error, GroupEnded)
    assert error.message == "the JVM ran out of memory"
    assert "heavy.log" in error.hint
    assert other.progress().state == "failed"


def test_a_request_ends_with_the_process(process: GroupProcess) -> None:
    with pytest.raises(GroupEnded, match="exit status 7"):
        RemoteQuery(process, "CRASH_0", 0)


def test_a_killed_process_is_reported_by_its_signal(process: GroupProcess) -> None:
    query = RemoteQuery(process, "OK_0", 0)
    os.kill(process.pid, signal.SIGKILL)

    wait_for(lambda: query.has_ended, "the end is not noticed")
    assert "SIGKILL" in str(query.exception())


def test_output_of_queries_goes_to_the_log(process: GroupProcess, tmp_path: Path) -> None:
    """It must not be read as a message."""
    RemoteQuery(process, "OK_0", 0)
    process.close(waiting.DEADLINE_S)

    assert process.has_ended
    assert "printed to standard output" in (tmp_path / "heavy.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_secrets_are_in_no_argument_and_no_environment(tmp_path: Path) -> None:
    security = ClientSecurity("SASL_PLAINTEXT", "PLAIN", "ann", "geheim-4711")
    setup = setup_of("heavy", tmp_path, Brokers("127.0.0.1:9", security))
    process = GroupProcess(setup, tmp_path / "heavy.log", FAKE)
    RemoteQuery(process, "OK_0", 0)

    seen = b"".join(
        Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")
    )
    process.close(waiting.DEADLINE_S)

    assert b"geheim" not in seen + (tmp_path / "heavy.log").read_bytes()
    assert "geheim" in str(setup.encode())
    assert "geheim" not in repr(setup)


def test_the_process_ends_with_a_killed_server(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert server.stdout is not None
    pid = int(server.stdout.readline())
    assert is_alive(pid)
    server.kill()
    server.communicate()

    wait_for(lambda: not _runs(pid), "the process outlives the server")


def test_a_silent_process_is_noticed(process: GroupProcess) -> None:
    RemoteQuery(process, "OK_0", 0)
    assert process.silent_s(time.monotonic()) < waiting.DEADLINE_S
    os.kill(process.pid, signal.SIGSTOP)

    wait_for(lambda: process.silent_s(time.monotonic()) > 2, "it is not noticed")


def test_progress_of_a_silent_process_is_the_last_one_known(process: GroupProcess) -> None:
    query = RemoteQuery(process, "OK_0", 12)
    # On a busy machine, the first answer may come after the time that the caller waits for it.
    wait_for(lambda: query.progress().records_in == 12, "it reports no progress")
    os.kill(process.pid, signal.SIGSTOP)

    assert query.progress().records_in == 12
    assert query.metrics() is None


def test_a_jvm_that_does_not_answer_is_noticed_although_its_process_does(
    process: GroupProcess,
) -> None:
    RemoteQuery(process, "HANGS_0", 0)

    wait_for(lambda: process.silent_s(time.monotonic()) > 2, "it is not noticed")
    heard_at = process.heard_at
    wait_for(lambda: process.heard_at > heard_at, "the process is silent, too")


def _runs(pid: int) -> bool:
    """Return false for a zombie too: another process may have to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return sys.platform != "linux" and is_alive(pid)
