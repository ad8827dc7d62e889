"""The archive of the JVM's classes: files only, no JVM."""

import os
from pathlib import Path

import pytest

from duolog.engine.jvm.class_archive import ClassArchive


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"a jar")
    return jar


def archive_of(directory: Path, jar: Path) -> ClassArchive:
    java = directory / "java"
    if not java.exists():
        java.touch()
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    return ClassArchive.of(java, [jar], cache_dir=directory / "cache", scratch=scratch)


def test_without_an_archive_a_session_writes_one_only_if_enabled(tmp_path: Path, jar: Path) -> None:
    archive = archive_of(tmp_path, jar)

    assert "-XX:ArchiveClassesAtExit=" in archive.java_options(write=True)
    assert archive.java_options(write=False) == ""


def test_the_next_session_reads_the_history_of_the_last(tmp_path: Path, jar: Path) -> None:
    first = archive_of(tmp_path, jar)
    first.java_options(write=True)
    first.arriving.write_bytes(b"classes")

    second = archive_of(tmp_path, jar)
    second.take_over()

    assert second.kept.read_bytes() == b"classes"
    assert f"-XX:SharedArchiveFile={second.kept}" in second.java_options(write=False)


def test_an_archive_being_written_is_neither_used_nor_written_again(
    tmp_path: Path, jar: Path
) -> None:
    """The JVM writes the header last, over zeros."""
    first = archive_of(tmp_path, jar)
    first.java_options(write=True)
    first.arriving.write_bytes(bytes(4096) + b"classes")

    second = archive_of(tmp_path, jar)
    second.take_over()

    assert not second.exists
    assert not second.is_wanted
    assert first.arriving.exists()


def test_leftovers_of_a_killed_jvm_are_removed_and_written_again(tmp_path: Path, jar: Path) -> None:
    first = archive_of(tmp_path, jar)
    first.java_options(write=True)
    first.arriving.write_bytes(bytes(4096))
    os.utime(first.arriving, (0, 0))

    second = archive_of(tmp_path, jar)
    second.take_over()

    assert second.is_wanted
    assert not first.arriving.exists()


def test_a_session_that_wrote_nothing_leaves_no_archive(tmp_path: Path, jar: Path) -> None:
    archive = archive_of(tmp_path, jar)

    archive.take_over()

    assert not archive.exists
    assert archive.is_wanted


def test_another_jar_makes_another_archive_and_of_four_the_oldest_goes(
    tmp_path: Path, jar: Path
) -> None:
    kept = []
    for number in range(4):
        jar.write_bytes(b"jar" * (number + 1))
        archive = archive_of(tmp_path, jar)
        archive.java_options(write=True)
        archive.arriving.write_bytes(b"classes")
        archive.take_over()
        os.utime(archive.kept, (number, number))
        kept.append(archive)

    kept[-1].take_over()

    assert [archive.exists for archive in kept] == [False, True, True, True]


def test_without_a_writable_cache_no_archive_is_written(tmp_path: Path, jar: Path) -> None:
    (tmp_path / "cache").write_text("no directory")

    assert archive_of(tmp_path, jar).java_options(write=True) == ""


def test_only_the_owner_may_write_where_archives_are(tmp_path: Path, jar: Path) -> None:
    archive = archive_of(tmp_path, jar)

    archive.java_options(write=True)

    assert archive.arriving.parent == archive.kept.parent
    assert archive.kept.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [bytes(4096), b"whole"])
def test_leftovers_for_other_jars_or_another_java_expire(
    tmp_path: Path, jar: Path, content: bytes
) -> None:
    """190 MB stayed for ever: only parts of the same archive were looked for."""
    old = archive_of(tmp_path, jar)
    old.java_options(write=True)
    jar.write_bytes(b"another jar")
    archive = archive_of(tmp_path, jar)
    fresh = archive.kept.with_name("other.2.arriving")
    for part in (old.arriving, fresh):
        part.write_bytes(content)
    os.utime(old.arriving, (0, 0))

    archive.take_over()

    assert not old.arriving.exists()
    assert fresh.exists()
