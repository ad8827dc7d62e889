"""Errors reported if the JVM does not start, and the JVM's shutdown; both are simulated."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NoReturn
from unittest.mock import MagicMock

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError

from duolog.engine.errors import JvmNotStarted
from duolog.engine.jvm import shutdown
from duolog.engine.jvm.class_archive import ClassArchive
from duolog.engine.settings import EngineConfig
from duolog.engine.spark import gateway, session, session_start
from duolog.engine.spark.running_jvm import RunningJvm
from duolog.engine.spark.session import open_session


def test_a_jvm_that_does_not_start_is_reported_with_its_output_and_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error used to be a traceback of PySpark's; the reason was in a file that the message did not name."""

    def refuse(_conf: SparkConf, popen: dict[str, Any]) -> NoReturn:
        said: IO[bytes] = popen["stderr"]
        said.write(b"Could not reserve enough space\n")
        said.flush()
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(gateway, "launch_gateway", refuse)
    monkeypatch.setattr(session_start, "connector_jars", lambda _connector: ())
    monkeypatch.setattr(session, "_running", None)
    log = tmp_path / "engine.log"
    log.write_text("what an earlier one said\n")

    with pytest.raises(JvmNotStarted) as caught:
        open_session(EngineConfig("127.0.0.1:1", tmp_path, log_path=log))

    assert caught.value.detail == "Could not reserve enough space"
    assert caught.value.hint == f"The engine's log is {log}."


@pytest.mark.parametrize("delay_s", [0, 0.3])
def test_an_interrupted_launch_leaves_no_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay_s: float
) -> None:
    """Ctrl-C in the seconds before it answered: it failed of a directory that was gone, and stayed."""
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep {delay_s}\nkill -INT $PPID\nexec sleep 60\n"
    )
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(session_start, "connector_jars", lambda _connector: ())
    monkeypatch.setattr(session, "_running", None)

    with pytest.raises(KeyboardInterrupt):
        open_session(EngineConfig("127.0.0.1:1", tmp_path))

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_start_that_is_given_up_ends_at_once_and_leaves_no_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while queries started waited for the JVM, 47 seconds once."""
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(session_start, "connector_jars", lambda _connector: ())
    monkeypatch.setattr(session, "_running", None)
    given_up = threading.Event()

    def give_up() -> None:
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text():
            given_up.wait(0.01)
        given_up.set()

    giving_up = threading.Thread(target=give_up)
    giving_up.start()
    with pytest.raises(JvmNotStarted):
        open_session(EngineConfig("127.0.0.1:1", tmp_path), given_up=given_up)

    giving_up.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("signalled", ["KILL", "TERM"])
def test_a_jvm_that_is_killed_before_it_answers_says_by_which_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signalled: str
) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\nkill -{signalled} $$\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(session_start, "connector_jars", lambda _connector: ())
    monkeypatch.setattr(session, "_running", None)

    with pytest.raises(JvmNotStarted) as caught:
        open_session(EngineConfig("127.0.0.1:1", tmp_path))

    assert f"The JVM was killed by SIG{signalled}." in (caught.value.detail or "")
    assert ("driver.memory.bytes" in (caught.value.hint or "")) == (signalled == "KILL")


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps running for a second after its standard input has ended."""
    program = "import sys, time; sys.stdin.read(); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def last_word(tmp_path: Path) -> Path:
    """A pipe that `stuck` reads before it ends."""
    os.mkfifo(tmp_path / "last-word")
    return tmp_path / "last-word"


@pytest.fixture
def stuck(last_word: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps running after its standard input has ended, until the test writes its last word."""
    program = f"import sys; sys.stdin.read(); open({str(last_word)!r}).read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "a.jsa", tmp_path / "a.1.arriving")


def test_a_jvm_that_writes_its_archive_is_left_to_itself_and_yields_to_others(
    stuck: subprocess.Popen[bytes], last_word: Path, archive: ClassArchive
) -> None:
    """Ctrl-C took more than a minute on a busy machine: the end waited for ten seconds of processor time."""
    archive.arriving.write_bytes(b"classes")

    shutdown.JvmShutdown(stuck, archive, ran_query=True, load=lambda: 0.0, room=lambda: None)(
        None, None, None
    )

    assert stuck.poll() is None
    assert os.getpriority(os.PRIO_PROCESS, stuck.pid) == 19
    last_word.write_text("")
    assert stuck.wait(60) == 0
    for thread in threading.enumerate():
        if thread.name == "class-archive":
            thread.join()
    assert archive.exists


def test_a_jvm_that_writes_its_archive_is_logged_in_one_line(
    stuck: subprocess.Popen[bytes], archive: ClassArchive, caplog: pytest.LogCaptureFixture
) -> None:
    """The JVM used to stay for minutes with a gigabyte of memory, without any explanation."""
    with caplog.at_level(logging.INFO, "duolog.engine.jvm.shutdown"):
        shutdown.JvmShutdown(stuck, archive, ran_query=True, load=lambda: 0.0, room=lambda: None)(
            None, None, None
        )

    (record,) = caplog.records
    assert f"the JVM (process {stuck.pid}) writes a class archive" in record.message
    assert "at most 60 s and 1024 MiB of additional memory" in record.message
    assert "class.archive=false" in record.message


def test_on_a_busy_machine_no_archive_is_written(
    stuck: subprocess.Popen[bytes], archive: ClassArchive
) -> None:
    end = shutdown.JvmShutdown(stuck, archive, ran_query=True, load=lambda: 1000.0)

    assert not end.keeps_archive
    end(None, None, None)

    assert stuck.returncode == -signal.SIGKILL


def test_without_memory_for_it_no_archive_is_written(
    stuck: subprocess.Popen[bytes], archive: ClassArchive, caplog: pytest.LogCaptureFixture
) -> None:
    """In a container it could reach the limit, and the system killed whatever was largest."""
    end = shutdown.JvmShutdown(
        stuck, archive, ran_query=True, load=lambda: 0.0, room=lambda: 1024**3
    )

    with caplog.at_level(logging.INFO, "duolog.engine.jvm.shutdown"):
        end(None, None, None)

    assert stuck.returncode == -signal.SIGKILL
    assert caplog.messages == ["memory is short: a later run will write the class archive"]


@pytest.mark.parametrize(("load", "writes"), [(0.0, True), (1000.0, False)])
def test_a_start_on_a_busy_machine_notes_no_classes(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch, *, load: float, writes: bool
) -> None:
    """Recording used to cost a third more processor time, and a busy machine then wrote no archive at the end."""
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    config = EngineConfig("", Path(), writes_class_archive=True)

    assert session_start._is_to_write(config, archive) == writes  # noqa: SLF001
    assert not session_start._is_to_write(EngineConfig("", Path()), archive)  # noqa: SLF001


@pytest.mark.parametrize("ran_query", [True, False])
def test_a_jvm_with_an_archive_ends_in_order(
    busy: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, *, ran_query: bool
) -> None:
    monkeypatch.setattr(shutdown, "_END_TIMEOUT_S", 60)

    shutdown.JvmShutdown(busy, None, ran_query=ran_query)(None, None, None)

    assert busy.returncode == 0


def test_a_jvm_that_ran_no_query_writes_no_archive(
    stuck: subprocess.Popen[bytes], archive: ClassArchive
) -> None:
    """The archive would lack the classes of queries, and all later starts would map it."""
    shutdown.JvmShutdown(stuck, archive)(None, None, None)

    assert stuck.returncode == -signal.SIGKILL


def test_a_jvm_that_only_ends_is_not_waited_for_long(
    stuck: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutdown, "_END_TIMEOUT_S", 0.1)

    shutdown.JvmShutdown(stuck, None)(None, None, None)

    assert stuck.returncode == -signal.SIGKILL


def test_a_jvm_whose_start_was_interrupted_ends_at_once(
    stuck: subprocess.Popen[bytes], archive: ClassArchive
) -> None:
    end = shutdown.JvmShutdown(stuck, archive, ran_query=True, load=lambda: 0.0, room=lambda: None)

    end(KeyboardInterrupt, KeyboardInterrupt(), None)

    assert stuck.returncode == -signal.SIGKILL


def running_in(
    spark: MagicMock, process: Any = None, end: Any = None, *, jvm: Any = None
) -> RunningJvm:
    config = EngineConfig("", Path())
    return RunningJvm(spark, jvm, ExitStack(), process, config, end or MagicMock())


def test_end_now_kills_the_jvm_unless_it_has_other_owners(
    stuck: subprocess.Popen[bytes], archive: ClassArchive
) -> None:
    end = shutdown.JvmShutdown(stuck, archive, ran_query=True, load=lambda: 0.0, room=lambda: None)
    running = running_in(MagicMock(), stuck, end)
    first, second = session.Session(running), session.Session(running)
    running.owners |= {first, second}

    first.end_now()
    with pytest.raises(subprocess.TimeoutExpired):
        stuck.wait(0.3)

    running.owners.discard(second)
    first.end_now()
    assert stuck.wait(60) == -signal.SIGKILL
    assert not end.keeps_archive


def test_queries_that_start_at_once_do_not_get_each_others_shuffle_partitions() -> None:
    """The number is a setting of the session that all shared; four starts in five once failed."""

    said: dict[int, int] = {}

    def made() -> MagicMock:
        new = MagicMock()
        new.conf.set = lambda _name, value: said.update({id(new): value})
        return new

    spark = MagicMock()
    spark.newSession.side_effect = made
    running = running_in(spark)
    share = session.Session(running)
    numbers = [1, 2, 3, 7] * 4

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(share.spark_with, numbers))

    assert [said[id(one)] for one in found] == numbers
    assert len(said) == 4
    spark.conf.set.assert_not_called()


def test_a_share_of_an_ended_jvm_never_calls_the_next_jvm() -> None:
    """PySpark has one JVM for the process: none between two, and then the next one's."""
    spark, jvm = MagicMock(), MagicMock()
    running = running_in(spark, jvm=jvm)
    share = session.Session(running)

    spark.sparkContext._jvm = None  # noqa: SLF001 - as PySpark keeps it

    assert share.jvm is jvm
    assert share.kernel("Metrics") is jvm.org.duolog.kernel.metrics.Metrics


def test_a_class_of_the_kernel_is_looked_up_once() -> None:
    """Each part of its name was looked for in all jars, whenever a query was asked how far it is."""
    looked_up: list[str] = []

    class Package:
        def __getattr__(self, name: str) -> object:
            looked_up.append(name)
            return object()

    jvm = MagicMock()
    jvm.org.duolog.kernel.metrics = Package()
    running = running_in(MagicMock(), jvm=jvm)
    first, second = session.Session(running), session.Session(running)

    assert first.kernel("Metrics") is second.kernel("Metrics")
    assert first.kernel("Prints") is not first.kernel("Metrics")
    assert looked_up == ["Metrics", "Prints"]
