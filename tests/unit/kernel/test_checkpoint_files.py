"""Spark's checkpoint files at a URL are fenced and never overwrite each other. Hadoop's viewfs over a directory plays the file system."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from duolog.engine.checkpoint.remote.door import Door
from duolog.engine.errors import FileSystemFailed
from unit.kernel.driver import kernel_package

MOUNT = "fs.viewfs.mounttable.duolog-test.link./data"
URL = "viewfs://duolog-test/data"


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mounted")


class Files:
    """Writes as Spark does: to another name first."""

    def __init__(self, spark: SparkSession, mounted: Path) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
        self._jvm = jvm
        # That of the session itself, as the kernel has it: the mount is none when this JVM starts.
        spark.sparkContext._jsc.sc().conf().set(  # noqa: SLF001
            f"spark.hadoop.{MOUNT}", mounted.as_uri()
        )
        conf = jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: FBT003 - Java's
        conf.set(MOUNT, mounted.as_uri())
        conf.set("fs.AbstractFileSystem.viewfs.impl", "org.apache.hadoop.fs.viewfs.ViewFs")
        conf.set("fs.AbstractFileSystem.file.impl", "org.apache.hadoop.fs.local.LocalFs")
        self.checkpoint = kernel_package(spark).Checkpoint
        self._files = kernel_package(spark).CheckpointFiles(self._path("app/spark/commits"), conf)

    def own(self) -> None:
        assert self.checkpoint.lock(f"{URL}/app") == "unsupported"
        self.checkpoint.own(f"{URL}/app", "mine", 1)

    def arrive(self, name: str, content: int) -> Any:
        arriving = self._path(f"app/spark/{name}.{content}.tmp")
        stream = self._files.createTempFile(arriving)
        stream.write(content)
        stream.close()
        return arriving

    def put(self, name: str, content: int) -> None:
        self._files.renameTempFile(
            self.arrive(name, content),
            self._path(f"app/spark/{name}"),
            False,  # noqa: FBT003
        )

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{URL}/{name}")


@pytest.fixture
def files(spark: SparkSession, mounted: Path) -> Iterator[Files]:
    for directory in ("offsets", "commits", "state"):
        (mounted / "app" / "spark" / directory).mkdir(parents=True, exist_ok=True)
    (mounted / "app" / "owner.json").write_text("mine")
    (mounted / "app" / ".owner.json.crc").unlink(missing_ok=True)
    files = Files(spark, mounted)
    yield files
    files.checkpoint.release(f"{URL}/app")


@pytest.mark.spark
def test_of_two_that_write_one_entry_the_second_is_refused(files: Files, mounted: Path) -> None:
    files.own()
    files.put("commits/1", 7)

    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        files.put("commits/1", 8)

    assert (mounted / "app" / "spark" / "commits" / "1").read_bytes() == b"\7"


@pytest.mark.spark
def test_a_replaced_owner_cannot_rename_files_into_the_checkpoint(
    files: Files, mounted: Path
) -> None:
    files.own()
    assert (mounted / "app" / "owner.1.beat").read_text() != ""
    arrives = files.arrive("commits/2", 7)
    (mounted / "app" / "owner.json").write_text("another")

    with pytest.raises(Py4JJavaError, match=f"checkpoint {URL}/app was taken over"):
        files._files.renameTempFile(arrives, files._path("app/spark/commits/2"), False)  # noqa: SLF001, FBT003

    assert not (mounted / "app" / "spark" / "commits" / "2").exists()


@pytest.mark.spark
def test_writing_into_a_file_instead_of_a_directory_names_the_path(
    files: Files, mounted: Path
) -> None:
    (mounted / "app" / "spark" / "plain").write_text("")

    with pytest.raises(Py4JJavaError, match=r"plain"):
        files.arrive("plain/1", 1)


def test_the_small_jvm_makes_files_once_and_replaces_them_in_one_step(mounted: Path) -> None:
    door = Door({f"spark.hadoop.{MOUNT}": mounted.as_uri()})
    try:
        door.ask("mkdirs", f"{URL}/door")
        door.ask("create", f"{URL}/door/claim")
        door.ask("replace", f"{URL}/door/a b", text="ä")
        door.ask("replace", f"{URL}/door/a b", text="{}")

        assert door.read(f"{URL}/door/a b") == b"{}"
        with pytest.raises(FileExistsError):
            door.ask("create", f"{URL}/door/claim")
        with pytest.raises(FileExistsError):
            door.ask("rename", f"{URL}/door/claim", to=f"{URL}/door/a b")
        with pytest.raises(FileNotFoundError):
            door.ask("create", f"{URL}/none/claim")
        with pytest.raises(FileNotFoundError):
            door.read(f"{URL}/none")
        assert door.ask("stat", f"{URL}/none") is None
        assert door.ask("list", f"{URL}/none") is None
        listed: Any = door.ask("list", f"{URL}/door")
        assert {of["name"] for of in listed} >= {"claim", "a b"}
        with pytest.raises(
            FileSystemFailed, match='file system "nofs://x" has a scheme without a client'
        ) as reported:
            door.ask("stat", "nofs://x/y")
        assert reported.value.errno == errno.EPROTONOSUPPORT
        door.ask("delete", f"{URL}/door")
        assert not (mounted / "door").exists()
    finally:
        door.close()
