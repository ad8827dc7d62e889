"""`duolog backup` and `duolog restore`: options, refusals, and what the user reads."""

import errno
import json
import os
from pathlib import Path

import pytest

from duolog.cli.backup import taking
from duolog.cli.backup.checkpoint_files import stage_files
from duolog.cli.backup.checkpoint_scan import Scan, scan
from duolog.cli.main import main
from duolog.log import LogManager
from duolog.log.backup.log_source import Moved
from duolog.log.backup.manifest import write_manifest
from duolog.log.backup.repository import create_repository
from duolog.log.files.disk import RealDisk
from duolog.testing import FakeClock
from unit.cli.backup.test_checkpoints_in_backups import Checkpoint, manifest_of


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of a stopped broker, with one application."""
    root = tmp_path / "data"
    manager = LogManager(RealDisk(), str(root), FakeClock(), {})
    manager.topics.create("orders", 2)
    manager.close()
    checkpoint = Checkpoint(root)
    checkpoint.plan()
    checkpoint.commit()
    return root


def test_everything_comes_back(data: Path, tmp_path: Path) -> None:
    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 0
    assert main(["restore", str(tmp_path / "backups"), "--data", str(tmp_path / "new")]) == 0

    before = {path.relative_to(data): path.read_bytes() for path in data.rglob("shop/**/*.*")}
    restored = tmp_path / "new"
    after = {
        path.relative_to(restored): path.read_bytes() for path in restored.rglob("shop/**/*.*")
    }
    assert {path.name for path in before.keys() - after.keys()} == {"owner.json"}
    assert after.items() <= before.items()


def test_backups_are_listed(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["backup", str(tmp_path / "backups"), "--data", str(data)])
    capsys.readouterr()

    assert main(["restore", str(tmp_path / "backups"), "--list", "-o", "json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)
    found = row["backup"], row["topics"], row["partitions"], row["applications"], row["problem"]
    assert found == (1, 1, 0, 1, None)


def test_a_damaged_backup_is_listed_with_its_problem(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backups = tmp_path / "backups"
    main(["backup", str(backups), "--data", str(data)])
    (backups / "backup-000001").write_bytes(b"?")
    capsys.readouterr()

    assert main(["backup", str(backups), "--list", "-o", "json"]) == 1
    assert "is damaged" in json.loads(capsys.readouterr().out)[0]["problem"]
    assert main(["backup", str(backups), "--verify"]) == 1


def test_backups_on_a_read_only_file_system_are_listed_verified_and_restored(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups, opened = tmp_path / "backups", os.open
    main(["backup", str(backups), "--data", str(data)])

    def read_only(path: str, flags: int, *more: int) -> int:
        if str(path).startswith(str(backups)) and flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", read_only)

    assert main(["backup", str(backups), "--list"]) == 0
    assert main(["backup", str(backups), "--verify"]) == 0
    assert main(["restore", str(backups), "--data", str(tmp_path / "new")]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["backup", "backups"],
        ["restore", "backups"],
        ["backup", "backups", "--list", "--data", "data"],
        ["backup", "backups", "--verify", "--full"],
        ["backup", "backups", "--data", "data", "--keep", "0"],
    ],
)
def test_options_that_do_not_fit_are_usage_errors(words: list[str]) -> None:
    assert main(words) == 2


def test_a_directory_without_a_broker_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()

    assert main(["backup", str(tmp_path / "backups"), "--data", str(tmp_path / "data")]) == 1

    assert "has no logs of a broker" in capsys.readouterr().err
    assert not (tmp_path / "backups").exists()


def test_the_directory_of_the_broker_alone_is_refused_next_to_checkpoints(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "all"
    root.mkdir()
    (data / "checkpoints").rename(root / "checkpoints")
    data.rename(root / "broker")

    assert main(["backup", str(tmp_path / "backups"), "--data", str(root / "broker")]) == 1

    said = capsys.readouterr().err
    assert "is only a part of a data directory" in said
    assert f"--data {root}" in said
    assert not (tmp_path / "backups").exists()
    assert main(["backup", str(tmp_path / "backups"), "--data", str(root)]) == 0


def test_the_files_of_another_user_are_refused(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: data.stat().st_uid + 1)

    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 1

    assert "belongs to another user" in capsys.readouterr().err
    assert not (data / ".backup").exists()


def test_a_checkpoint_ahead_of_its_topics_is_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backups, target = tmp_path / "backups", tmp_path / "new"
    create_repository(RealDisk(), str(backups), "cluster")
    manifest = manifest_of(backups, {"0": 101})
    write_manifest(RealDisk(), str(backups), manifest)

    assert main(["restore", str(backups), "--data", str(target)]) == 1

    said = capsys.readouterr().err
    assert 'application "shop" is at offset 101 of orders-0, which ends at 100' in said
    assert not target.exists()
    assert main(["backup", str(backups), "--verify"]) == 1
    assert main(["restore", str(backups), "--data", str(target), "--no-applications"]) == 0
    assert not (target / "checkpoints").exists()


def test_a_moment_that_is_never_found_is_an_error(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def always(*_: object) -> None:
        raise Moved("checkpoints/shop/spark/offsets/7 has changed")

    monkeypatch.setattr(taking, "stage_files", always)
    monkeypatch.setattr(taking, "_ATTEMPT_S", 0.0)

    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 1

    assert "offsets/7 has changed" in capsys.readouterr().err


def test_a_broker_that_stops_before_it_answers_is_backed_up_as_stopped(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = RealDisk().lock(f"{data}/.lock")  # As if a broker were running.
    monkeypatch.setattr(taking, "_CHECK_S", 0.0)
    asked: list[float] = []

    def look(root: Path) -> Scan:
        asked.append(1)
        if len(asked) == 5:
            lock.release()
        return scan(root)

    monkeypatch.setattr(taking, "scan", look)

    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 0
    assert len(asked) > 5
    assert not (data / "backup-request").exists()


@pytest.mark.parametrize("gone", [True, False])
def test_a_checkpoint_file_that_is_replaced_where_no_second_names_exist_is_not_copied(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    gone: bool,
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def replacing(root: Path, look: Scan) -> object:
        files = stage_files(root, look)
        path = root / "checkpoints/shop/application.json"
        if gone:
            path.unlink()
        else:
            path.with_name("new").write_text(path.read_text())
            path.with_name("new").rename(path)
        return files

    monkeypatch.setattr(os, "link", unsupported)
    monkeypatch.setattr(taking, "stage_files", replacing)

    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 1
    assert "was replaced or deleted meanwhile" in capsys.readouterr().err


def test_a_moment_is_looked_for_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Scan] = []

    def at_last(root: Path, look: Scan) -> object:
        calls.append(look)
        if len(calls) < 3:
            raise Moved("something has changed")
        return stage_files(root, look)

    monkeypatch.setattr(taking, "stage_files", at_last)

    assert main(["backup", str(tmp_path / "backups"), "--data", str(data)]) == 0
    assert len(calls) == 3
