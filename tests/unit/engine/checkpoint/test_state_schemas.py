"""Schemas of stores: each checkpoint leads to its own, and one that cannot is refused by name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from duolog.engine.checkpoint.checksums import matches_checksum, write_with_checksum
from duolog.engine.checkpoint.state_schemas import ensure_schemas, relocate_schemas
from duolog.engine.errors import CheckpointDamaged


def entry_of(checkpoint: Path) -> Path:
    return checkpoint / "spark" / "state" / "0" / "_metadata" / "v2" / "0"


def schema_of(checkpoint: Path) -> Path:
    return checkpoint / "spark" / "state" / "0" / "_stateSchema" / "default" / "0_a"


def written(checkpoint: Path) -> Path:
    """Return a checkpoint as Spark writes it."""
    for path in (entry_of(checkpoint), schema_of(checkpoint)):
        path.parent.mkdir(parents=True)
        path.write_text("bytes")
    content = {
        "operatorInfo": {"operatorId": 0},
        "stateStoreInfo": [
            {"storeName": "default", "stateSchemaFilePaths": [f"file:{schema_of(checkpoint)}"]}
        ],
        "operatorPropertiesJson": json.dumps({"stateName": "größte"}),
    }
    text = f"v2\n{json.dumps(content, ensure_ascii=False)}"
    write_with_checksum(entry_of(checkpoint), text)
    return checkpoint


def led(checkpoint: Path) -> str:
    version, line = entry_of(checkpoint).read_text().splitlines()
    assert version == "v2"
    (path,) = json.loads(line)["stateStoreInfo"][0]["stateSchemaFilePaths"]
    return str(path)


@pytest.mark.parametrize("moved", [True, False])
def test_a_checkpoint_that_was_moved_or_copied_leads_to_schemas_of_its_own(
    tmp_path: Path, *, moved: bool
) -> None:
    before, after = written(tmp_path / "before"), tmp_path / "after ü%20"
    _, line = entry_of(before).read_text().splitlines()
    before.rename(after) if moved else shutil.copytree(before, after)

    relocate_schemas(after)

    assert led(after) == f"file:{schema_of(after)}"
    message = json.loads(entry_of(after).read_text().splitlines()[1])
    assert message["operatorPropertiesJson"] == json.loads(line)["operatorPropertiesJson"]
    assert matches_checksum(entry_of(after)), "it has a checksum of its own"
    if not moved:
        assert led(before) == f"file:{schema_of(before)}"


def test_one_that_leads_there_stays_as_it_is(tmp_path: Path) -> None:
    checkpoint = written(tmp_path / "real")
    (tmp_path / "link").symlink_to(checkpoint)
    before = entry_of(checkpoint).read_bytes()

    relocate_schemas(tmp_path / "link")
    relocate_schemas(checkpoint)

    assert entry_of(checkpoint).read_bytes() == before
    assert entry_of(checkpoint).with_name(".0.crc").exists()
    ensure_schemas(checkpoint / "spark", "shop")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda of: entry_of(of).write_text(""), r"v2/0\" .* is damaged"),
        (lambda of: entry_of(of).write_text("v2\n{"), r"v2/0\" .* is damaged"),
        (lambda of: entry_of(of).write_text("v2\n[]"), r"v2/0\" .* is damaged"),
        (lambda of: entry_of(of).write_bytes(b"\xff\xfe"), r"v2/0\" .* is damaged"),
        (
            lambda of: entry_of(of).write_text(
                entry_of(of).read_text().replace("_stateSchema", "_stateSchela")
            ),
            r"v2/0\" .* is damaged",
        ),
        (lambda of: schema_of(of).unlink(), r"0_a\" .* is missing"),
        (lambda of: schema_of(of).write_text(""), r"0_a\" .* is damaged"),
    ],
)
def test_unreadable_files_are_named_and_left_unchanged(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    """These used to be Java errors without a file name: NullPointerException, JsonParseException."""
    checkpoint = written(tmp_path / "shop")
    spoil(checkpoint)
    before = entry_of(checkpoint).read_bytes()

    relocate_schemas(checkpoint)
    with pytest.raises(CheckpointDamaged, match=rf'file ".*{message}'):
        ensure_schemas(checkpoint / "spark", "shop")

    assert entry_of(checkpoint).read_bytes() == before


def test_schemas_of_another_file_system_are_left_to_it(tmp_path: Path) -> None:
    checkpoint = written(tmp_path / "shop")
    text = entry_of(checkpoint).read_text().replace("file:", "hdfs://there")
    write_with_checksum(entry_of(checkpoint), text)

    relocate_schemas(checkpoint)
    ensure_schemas(checkpoint / "spark", "shop")

    assert entry_of(checkpoint).read_text() == text
