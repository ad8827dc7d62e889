import json
from pathlib import Path
from typing import Any

import pytest

from duolog.engine.checkpoint import Checkpoint, shape_of
from duolog.engine.errors import CheckpointMismatch

VERSIONS = {"duolog": "0", "spark": "4"}


def spec(**changes: Any) -> dict[str, Any]:
    fold = {
        "kind": "fold",
        "children": [],
        "key_types": ["STRING"],
        "value_types": ["BIGINT"],
        "store": "by_airline",
        "acc_types": ["BIGINT"],
        "add": ["a0 + 1L"],
        "results": ["a0"],
    }
    return {
        "application_id": "flights",
        "tasks": 2,
        "sources": [
            {
                "id": 0,
                "topic": "flights",
                "key_types": ["STRING"],
                "value_types": ["BIGINT"],
                "children": [1],
                "corrupt": "false",
            }
        ],
        "edges": [],
        "levels": [[0]],
        "nodes": {"1": fold | changes.pop("fold", {})},
        "sinks": [],
    } | changes


def test_the_first_start_fixes_tasks_and_a_later_one_reads_them(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")
    assert checkpoint.pinned_tasks() is None

    checkpoint.pin(spec(), VERSIONS)
    checkpoint.pin(spec(), VERSIONS)

    assert checkpoint.pinned_tasks() == 2
    assert [path.name for path in checkpoint.directory.iterdir()] == ["application.json"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (spec(tasks=3), "tasks was 2 and is 3."),
        (
            spec(fold={"add": ["a0 + v0"]}),
            "nodes.1.add.0 was a0 + 1L and is a0 + v0.",
        ),
        (spec(fold={"store": "by_dest"}), "nodes.1.store was by_airline and is by_dest."),
        (spec(levels=[[0], [1]]), "levels was [[0]] and is [[0], [1]]."),
    ],
)
def test_a_change_that_state_depends_on_is_refused_and_named(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin(spec(), VERSIONS)

    with pytest.raises(CheckpointMismatch) as caught:
        checkpoint.pin(changed, VERSIONS)

    assert caught.value.detail.startswith(told)
    assert "another application id" in caught.value.hint


def test_what_state_does_not_depend_on_may_change(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin(spec(), VERSIONS)

    checkpoint.pin(spec(fold={"results": ["a0 * 2L"], "name": "x"}, real_time=True), VERSIONS)

    assert shape_of(spec()) == shape_of(spec(fold={"results": ["a0 * 2L"]}))


def test_a_checkpoint_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin(spec(), VERSIONS)
    path = tmp_path / "application.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))

    with pytest.raises(CheckpointMismatch, match="newer Duolog"):
        checkpoint.pin(spec(), VERSIONS)
