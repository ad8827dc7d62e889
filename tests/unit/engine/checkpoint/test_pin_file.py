import errno
import json
import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint import pin_file
from duolog.engine.checkpoint.pin_file import PinFile
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch, CheckpointNotWritable
from duolog.engine.json_object import Json

PIN: Json = {
    "tasks": 2,
    "shape": {"tasks": 2, "stores": {}, "texts": "flights.delay"},
    "topics": {"flights": "abc"},
}


def written(directory: Path) -> PinFile:
    file = PinFile(directory)
    file.write(PIN)
    return file


def test_facts_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert PinFile(tmp_path).read() is None

    file = written(tmp_path)

    assert file.read() == {"format": 2, **PIN}
    assert [path.name for path in tmp_path.iterdir()] == ["application.json"]


def test_content_that_was_stored_elsewhere_replaces_the_facts(tmp_path: Path) -> None:
    content = written(tmp_path / "one").content()
    assert content is not None
    other = PinFile(tmp_path / "other")

    other.replace_content(content)

    assert other.content() == content
    with pytest.raises(CheckpointMismatch, match="an older Duolog"):
        other.replace_content(content | {"format": 1})


def test_facts_name_the_directory_of_spark(tmp_path: Path) -> None:
    file = PinFile(tmp_path)

    assert file.spark_dir({}) == tmp_path / "spark"
    assert file.spark_dir({"state": "spark-2"}) == tmp_path / "spark-2"


@pytest.mark.parametrize(("found", "by"), [(99, "a newer Duolog"), (1, "an older Duolog")])
def test_a_file_of_another_format_is_refused_by_name(tmp_path: Path, found: int, by: str) -> None:
    file = written(tmp_path)
    file.path.write_text(json.dumps(json.loads(file.path.read_text()) | {"format": found}))

    with pytest.raises(CheckpointMismatch, match=by):
        file.read()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("flights.delay", "flights.delax"),
        ('"tasks": 2', '"tasks": 3'),
        ('"topics"', '"topicr"'),
        ("abc", "another"),
        ('"format": 2', '"format": "x"'),
    ],
)
def test_one_flipped_bit_is_damage(tmp_path: Path, before: str, after: str) -> None:
    """And not another topic, or another number of tasks."""
    file = written(tmp_path)
    assert before in file.path.read_text()
    file.path.write_text(file.path.read_text().replace(before, after, 1))

    with pytest.raises(CheckpointDamaged):
        file.read()


def test_a_full_disk_is_reported_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = MagicMock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr(pin_file, "write_durably", full)

    with pytest.raises(CheckpointNotWritable) as caught:
        PinFile(tmp_path).write(PIN)

    assert caught.value.message == (
        f'application "{tmp_path.name}" cannot write {tmp_path}: No space left on device'
    )
    assert caught.value.hint.startswith("Free space there, then start again: nothing is lost")
