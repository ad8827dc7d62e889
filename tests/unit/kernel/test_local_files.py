"""Spark's checkpoint files: durable before the entry that makes them matter, and fenced."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from conftest import RequireProgram
from duolog.engine.spark.failures import causes_of
from unit.kernel.driver import java_session, kernel_package

pytestmark = pytest.mark.spark

OWNER = "mine"
# pid, then a whole call, the first part of one that others interrupt, or the rest of it.
CALL = re.compile(
    r"(\d+) +(?:<\.\.\. \w+ resumed>|(fsync|rename)\w*\((.*?))(?:<unfinished \.\.\.>|\) += (\S+).*)$"
)


class Files:
    """Writes files as Spark's checkpoints do: under a temporary name, then renamed, with a checksum file."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.directory = directory
        self.checkpoint: Any = kernel_package(spark).Checkpoint
        spark_context: Any = spark.sparkContext
        self._hadoop: Any = spark_context._jvm.org.apache.hadoop.fs  # noqa: SLF001
        conf = java_session(spark).sparkContext().hadoopConfiguration()
        self._context = self._hadoop.FileContext.getFileContext(conf)
        self._files = self._hadoop.FileSystem.get(conf)
        self._none: Any = spark_context._gateway.new_array(  # noqa: SLF001
            self._hadoop.Options.Rename, 0
        )

    def own(self) -> None:
        assert self.checkpoint.lock(str(self.directory)) == "locked"
        self.claim(OWNER)
        self.checkpoint.own(str(self.directory), OWNER, 1)

    def claim(self, owner: str) -> None:
        (self.directory / "owner.json").write_text(owner)

    def write(self, name: str) -> None:
        arriving, path = self._path(f"{name}.arriving"), self._path(name)
        stream = self._files.create(arriving)
        stream.write(7)
        stream.close()
        self._context.rename(arriving, path, self._none)

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(str(self.directory / "spark" / name))


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Iterator[Files]:
    files = Files(spark, tmp_path)
    yield files
    files.checkpoint.release(str(tmp_path))


@pytest.fixture
def calls(
    spark: SparkSession, require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Calls"]:
    require_program("strace", package="strace")
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    java_pid = jvm.java.lang.ProcessHandle.current().pid()
    with Calls(java_pid, tmp_path_factory.mktemp("strace") / "calls") as calls:
        yield calls


class Calls:
    """System calls of the JVM, in order: (`fsync` | `rename`, path)."""

    def __init__(self, pid: int, out: Path) -> None:
        self._out = out
        command = ["strace", "-f", "-y", "-s", "999", "-e", "trace=fsync,rename,renameat,renameat2"]
        self._process = subprocess.Popen(
            [*command, "-o", str(out), "-p", str(pid)], stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Calls":
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        assert "attached" in line, line
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.made()

    def made(self) -> list[tuple[str, str]]:
        """Detach, and return the calls."""
        self._process.terminate()
        self._process.communicate(timeout=60)
        found: list[tuple[str, str]] = []
        begun: dict[str, tuple[str, str]] = {}
        for line in self._out.read_text().splitlines():
            if (match := CALL.match(line)) is None:
                continue
            pid, kind, arguments, result = match.groups()
            if kind:
                begun[pid] = (kind, re.findall(r'[<"]([^>"]+)[>"]', arguments)[-1])
            if result == "0":
                found.append(begun.pop(pid))
        return found


def test_state_is_on_disk_before_its_commit(files: Files, calls: Calls) -> None:
    """202 renames and not one sync in ten seconds: a power cut left a checkpoint that was refused."""
    files.own()

    files.write("state/0/1/2.changelog")
    files.write("state/0/0/2.changelog")
    files.write("commits/2")

    made = calls.made()
    spark = files.directory / "spark"
    commit = made.index(("rename", str(spark / "commits" / "2")))
    synced = {path for kind, path in made[:commit] if kind == "fsync"}
    for part in ("0", "1"):
        file = spark / "state" / "0" / part / "2.changelog"
        assert {str(file), str(file.parent), str(file.parent.parent)} <= synced
    assert str(spark / "commits" / "2.arriving") in synced
    assert ("fsync", str(spark / "commits")) in made[commit:]


def test_names_that_a_killed_process_has_left_are_on_disk_before_a_start_builds_on_them(
    files: Files, calls: Calls
) -> None:
    """The process is killed between rename and sync: after a power loss, the commit used to exist without its planned offsets."""
    logs = [files.directory / "spark" / name for name in ("offsets", "commits")]
    for log in logs:
        log.mkdir(parents=True)
    (logs[0] / "2").write_text("planned")

    files.own()
    files.write("commits/2")

    made = calls.made()
    commit = made.index(("rename", str(logs[1] / "2")))
    assert {("fsync", str(log)) for log in logs} <= set(made[:commit])


def test_files_wait_for_the_commit_and_are_synced_once(files: Files, calls: Calls) -> None:
    files.own()

    for number in range(10):
        files.write(f"state/0/0/{number}.changelog")
    files.write("commits/2")

    made = calls.made()
    assert ("fsync", str(files.directory / "spark" / "state" / "0" / "0")) in made
    assert len([path for kind, path in made if kind == "fsync"]) < 40
    assert made[0][0] == "rename"


def test_a_checkpoint_that_this_jvm_does_not_own_is_synced_at_once(
    files: Files, calls: Calls
) -> None:
    """The executors of a cluster write state for a driver that is another process."""
    files.write("state/0/0/1.changelog")

    file = files.directory / "spark" / "state" / "0" / "0" / "1.changelog"
    made = calls.made()
    renamed = made.index(("rename", str(file)))
    assert ("fsync", f"{file}.arriving") in made[:renamed]
    assert ("fsync", str(file.parent)) in made[renamed:]


def test_a_checkpoint_that_another_process_took_over_gets_no_more_commits(files: Files) -> None:
    files.own()
    files.write("commits/1")
    files.claim("theirs")

    with pytest.raises(Py4JJavaError, match="was taken over by another process"):
        files.write("commits/2")

    assert not (files.directory / "spark" / "commits" / "2").exists()


def test_removing_a_checkpoint_in_use_is_reported(files: Files) -> None:
    files.own()
    (files.directory / "owner.json").unlink()

    with pytest.raises(Py4JJavaError, match="was removed while it was in use"):
        files.write("offsets/1")


def test_a_failed_sync_is_not_retried(files: Files) -> None:
    """After a failed fsync the page cache treats unwritten pages as clean: the next fsync succeeds and reports no error."""
    files.own()
    state, commits = (files.directory / "spark" / name for name in ("state/0/0", "commits"))
    for directory in (state, commits):
        directory.mkdir(parents=True)
    # What it is written through: a device takes all bytes, and no sync.
    (state / "2.zip.arriving").symlink_to("/dev/null")
    files.write("state/0/0/2.zip")

    with pytest.raises(Py4JJavaError, match=f"cannot sync {state}/2.zip: Invalid argument"):
        files.write("commits/2")
    assert not (commits / "2").exists()

    (state / "2.zip").unlink()
    (state / "2.zip").write_text("as if it were there")
    for _ in range(2):
        with pytest.raises(Py4JJavaError, match=f"NotSyncedException: cannot sync {state}/2.zip"):
            files.write("commits/2")
        assert not (commits / "2").exists()
        # As another start in this process does, of which nothing was written yet.
        files.checkpoint.release(str(files.directory))
        files.own()


def test_a_file_that_could_not_be_opened_is_synced_by_another_try(files: Files) -> None:
    files.own()
    directory = files.directory / "spark" / "state"
    directory.mkdir(parents=True)
    files.write("state/2.zip")
    (directory / "2.zip").unlink()
    (directory / "2.zip").symlink_to(directory / "2.zip")

    with pytest.raises(Py4JJavaError, match="NotWrittenException: cannot write"):
        files.write("commits/2")
    (directory / "2.zip").unlink()
    files.write("commits/2")

    assert (files.directory / "spark" / "commits" / "2").exists()


@pytest.mark.parametrize("name", [f"commits/{'2' * 300}", f"state/{'0' * 300}/2.zip"])
def test_a_file_or_directory_that_cannot_be_made_is_named_with_the_reason(
    files: Files, name: str
) -> None:
    """The error used to be a `FileNotFoundException`, or a failure to create a directory, without a reason."""
    files.own()

    with pytest.raises(Py4JJavaError) as refused:
        files.write(name)

    cause = list(causes_of(refused.value))[-1]
    assert cause.class_name == "NotWrittenException"
    assert cause.message.startswith(f"cannot write {files.directory}/spark/{name[:300]}")
    assert cause.message.endswith(": File name too long")


def test_a_lock_is_held_until_it_is_released(files: Files) -> None:
    files.own()
    directory = str(files.directory)
    beat = files.directory / "owner.1.beat"
    try_to_lock = f"""
import fcntl
fcntl.lockf(open({f"{directory}/owner.lock"!r}, "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
    assert beat.exists()
    assert files.checkpoint.lock(directory) == "held"
    assert (
        subprocess.run(
            ["python3", "-c", try_to_lock], check=False, stderr=subprocess.DEVNULL
        ).returncode
        != 0
    )

    files.checkpoint.release(directory)

    assert not beat.exists()
    subprocess.run(["python3", "-c", try_to_lock], check=True)
