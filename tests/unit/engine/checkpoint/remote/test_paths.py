"""Paths at URLs are used like local paths, and are never mistaken for one."""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.durable import make_durable_dir, remove_tree, write_durably
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.checkpoint.remote import RemotePath, data_dir_at, directory_at, local_dir_of
from duolog.engine.errors import CheckpointNotWritable, FileSystemFailed
from unit.engine.checkpoint.remote.fake_file_system import FakeFileSystem, opened

ROOT = RemotePath("hdfs://host/data")


@pytest.fixture
def door() -> Iterator[FakeFileSystem]:
    with opened() as door:
        yield door


def test_remote_paths_behave_like_paths_and_print_as_urls() -> None:
    path = ROOT / "checkpoints" / "totals"

    assert str(path) == "hdfs://host/data/checkpoints/totals"
    assert isinstance(path, RemotePath)
    assert (path.name, path.parent.parent, path.with_name("x").name) == ("totals", ROOT, "x")
    assert isinstance(path.parent, RemotePath)
    assert {path: 1}[RemotePath("hdfs://host/data/checkpoints/totals")] == 1
    assert path.resolve() is path


def test_a_remote_path_is_never_opened_as_a_local_file(tmp_path: Path) -> None:
    for door in (lambda: open(ROOT), lambda: ROOT.open("w"), lambda: shutil.rmtree(ROOT)):  # noqa: PTH123, SIM115
        with pytest.raises(OSError, match="is a URL"):
            door()


def test_written_files_are_found_listed_and_removed(door: FakeFileSystem) -> None:
    make_durable_dir(ROOT / "a" / "b")
    write_durably(ROOT / "a" / "b" / "7", "sieben")
    write_durably(ROOT / "a" / "b" / "7", "7")
    write_durably(ROOT / "a" / "x.json", "{}")

    assert (ROOT / "a" / "b" / "7").read_text() == "7"
    assert (ROOT / "a" / "b").is_dir()
    assert not (ROOT / "a" / "b").is_file()
    assert [path.name for path in (ROOT / "a").glob("*")] == ["b", "x.json"]
    assert list(ROOT.glob("*/b/[0-9]*")) == [ROOT / "a" / "b" / "7"]
    assert list(ROOT.glob("none/[0-9]*")) == []
    # HDFS refuses to look below a file, where a disk finds nothing.
    assert list(ROOT.glob("a/*/c/[0-9]*")) == []
    assert sorted(path.name for path in ROOT.rglob("*")) == ["7", "a", "b", "x.json"]
    assert (ROOT / "a" / "b" / "7").stat().st_size == 1
    assert (ROOT / "a" / "x.json").stat().st_mtime_ns == door.modified_ms[
        str(ROOT / "a" / "x.json")
    ] * 1_000_000
    remove_tree(ROOT / "a")
    assert not (ROOT / "a").exists()
    with pytest.raises(FileNotFoundError):
        (ROOT / "a" / "x.json").read_text()


@pytest.mark.usefixtures("door")
def test_a_checkpoint_is_pinned_and_upgraded_as_on_a_disk() -> None:
    checkpoint = Checkpoint(ROOT / "checkpoints" / "totals")
    shape = {"tasks": 2, "stores": {}, "order": []}

    checkpoint.pin(
        "totals", StartFacts(shape, {"duolog": "1"}, {"orders": "id"}, written=["totals"])
    )
    again = Checkpoint(ROOT / "checkpoints" / "totals")
    assert (again.pinned_tasks(), again.topic_ids()) == (2, {"orders": "id"})
    write_durably_all(again.spark_dir, "commits/0", "offsets/0")
    again.upgrade.begin(shape | {"tasks": 3}, Upgraded({"duolog": "1"}, {}, {"orders": {0: 5}}, []))

    assert str(again.spark_dir) == "hdfs://host/data/checkpoints/totals/spark-2"
    assert again.pinned_tasks() == 3
    again.want_handover(wanted=True)
    assert again.handover_is_wanted
    again.want_handover(wanted=False)
    assert not again.handover_is_wanted


def write_durably_all(directory: Path, *names: str) -> None:
    for name in names:
        make_durable_dir((directory / name).parent)
        write_durably(directory / name, "v1\n{}\n")


@pytest.mark.parametrize("number", [errno.EHOSTUNREACH, errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_a_refusing_file_system_is_named_and_existing_files_stay(
    number: int, door: FakeFileSystem
) -> None:
    checkpoint = Checkpoint(ROOT / "checkpoints" / "totals")
    checkpoint.pin("totals", StartFacts({"tasks": 2, "stores": {}}, {}, {}))
    before = dict(door.files)
    door.refuses = number

    with pytest.raises(CheckpointNotWritable) as reported:
        checkpoint.give_starts({"orders": {0: 1}})
    with pytest.raises(FileSystemFailed, match='file system "hdfs://host" does not answer'):
        checkpoint.pinned_tasks()

    assert reported.value.detail == 'File system "hdfs://host" does not answer.'
    assert reported.value.message.startswith(
        'application "totals" cannot write hdfs://host/data/checkpoints/totals'
    )
    assert reported.value.hint == "See that it runs."
    assert door.files == before


@pytest.mark.parametrize(
    "url", ["hdfs:///data", "hdfs://", "file://host/data", "file://", "hdfs://host/data?x=1"]
)
def test_a_url_of_no_directory_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="names no directory on a file system"):
        directory_at(url)


def test_a_file_url_is_the_directory_itself() -> None:
    assert directory_at("file:///srv/with%20space") == Path("/srv/with space")
    assert not isinstance(directory_at("file:///srv"), RemotePath)


@pytest.mark.parametrize("url", ["s3a://bucket/data", "abfss://box@host/data", "gs://bucket/data"])
def test_a_file_system_not_known_to_be_atomic_is_refused_unless_a_setting_allows_it(
    url: str,
) -> None:
    scheme = url.partition(":")[0]

    with pytest.raises(ConfigError, match="not known to be safe for checkpoints") as reported:
        data_dir_at(url, {})
    assert f"checkpoint.stores={scheme}" in reported.value.hint
    assert str(data_dir_at(url, {"checkpoint.stores": f"o3fs, {scheme}"})) == url


def test_logs_stay_on_this_machine() -> None:
    assert local_dir_of(ROOT, Path("/home/x")) == Path("/home/x/remote/hdfs-host-data")
    assert local_dir_of(Path("/srv"), Path("/home/x")) == Path("/srv")
