from dataclasses import replace
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.pending_upgrade import PendingUpgrade, Upgraded
from duolog.engine.checkpoint.pin_file import PinFile
from duolog.engine.json_object import Json

OLD: Final[Json] = {"tasks": 2, "stores": {}}
NEW: Final[Json] = {"tasks": 3, "stores": {}}
UPGRADED: Final = Upgraded({"duolog": "1"}, {"visits": "new"}, {"orders": {0: 7}}, [])


def begun(directory: Path) -> PendingUpgrade:
    """Return an upgrade of a checkpoint with one commit."""
    file = PinFile(directory)
    file.write(
        {"tasks": 2, "shape": OLD, "topics": {"orders": "id"}, "starts": {"orders": {"0": 1}}}
    )
    commit(directory / "spark", orders=5)
    upgrade = PendingUpgrade(file)
    upgrade.begin(NEW, replace(UPGRADED, initial=[{"store": "a", "becomes": "b"}]))
    return upgrade


def commit(spark_dir: Path, *, orders: int) -> None:
    for log, entry in (
        ("offsets", f'v1\n{{}}\n{{"orders":{{"0":{orders}}}}}'),
        ("commits", "v1\n{}"),
    ):
        (spark_dir / log).mkdir(parents=True)
        (spark_dir / log / "0").write_text(entry)


def test_before_its_first_commit_an_upgrade_continues_from_the_old_checkpoint(
    tmp_path: Path,
) -> None:
    upgrade = begun(tmp_path)

    pin = upgrade.file.read()
    assert pin is not None
    assert upgrade.file.spark_dir(pin) == tmp_path / "spark-2"
    assert upgrade.spark_dir_before == tmp_path / "spark"
    assert upgrade.go_on_from() == (tmp_path / "spark", {"orders": {0: 5}})
    assert upgrade.initial_stores() == [{"store": "a", "becomes": "b"}]
    assert pin["topics"] == {"orders": "id", "visits": "new"}
    assert upgrade.was_from(OLD)
    assert not upgrade.was_from(NEW)
    upgrade.settle()
    assert upgrade.file.read() == pin


def test_an_upgrade_removes_its_files_after_its_first_commit(tmp_path: Path) -> None:
    upgrade = begun(tmp_path)
    (tmp_path / "rebuild").mkdir()
    commit(tmp_path / "spark-2", orders=9)
    assert upgrade.initial_stores() == []

    upgrade.settle()

    assert {path.name for path in tmp_path.iterdir()} == {"application.json", "spark-2"}
    assert upgrade.spark_dir_before is None
    assert not upgrade.was_from(OLD)
    assert upgrade.go_on_from() == (tmp_path / "spark-2", {"orders": {0: 9}})
    assert upgrade.first_starts() == {"orders": {0: 1}}


def test_an_upgrade_that_is_reverted_leaves_the_checkpoint_as_it_was(tmp_path: Path) -> None:
    upgrade = begun(tmp_path)
    (tmp_path / "spark-2").mkdir()

    upgrade.revert()

    pin = upgrade.file.read()
    assert pin is not None
    assert (pin["shape"], pin["tasks"]) == (OLD, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"application.json", "spark"}
