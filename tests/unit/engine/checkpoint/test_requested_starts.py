import json
from pathlib import Path

import pytest

from duolog.engine.checkpoint.requested_starts import STARTS_FILE, read_starts, write_starts
from duolog.engine.errors import CheckpointDamaged

STARTS = {"orders": {0: 310, 1: 7}, "fingerprint": {0: 5}}


def test_starts_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_starts(tmp_path / "none") == {}

    write_starts(tmp_path / "app", STARTS)

    assert read_starts(tmp_path / "app") == STARTS


def test_one_flipped_bit_is_damage_wherever_it_is(tmp_path: Path) -> None:
    """Nothing compared them: the first start began at another offset."""
    write_starts(tmp_path, STARTS)
    path = tmp_path / STARTS_FILE
    written = path.read_bytes()
    flipped = [
        written[:at] + bytes([written[at] ^ (1 << bit)]) + written[at + 1 :]
        for at in range(len(written))
        for bit in range(8)
    ]

    def what_is_read(content: bytes) -> object:
        path.write_bytes(content)
        try:
            return read_starts(tmp_path)
        except CheckpointDamaged as error:
            return error.message, error.hint

    # A bit of a letter's case in an escape, say, changes nothing.
    damage = {str(found) for content in flipped if (found := what_is_read(content)) != STARTS}
    assert len(damage) == 2, "of JSON and of something else"
    for refusal in damage:
        assert str(path) in refusal
        assert f"duolog state reset {tmp_path.name}" in refusal


@pytest.mark.parametrize("left", ["", "[]", "{", '{"orders": 5}', '{"orders": {"0": "5"}}', '{"starts": {}, "fingerprint": "x"}'])  # fmt: skip
def test_a_malformed_file_counts_as_damaged(tmp_path: Path, left: str) -> None:
    (tmp_path / STARTS_FILE).write_text(left)

    with pytest.raises(CheckpointDamaged):
        read_starts(tmp_path)


def test_a_file_of_an_older_duolog_is_read(tmp_path: Path) -> None:
    (tmp_path / STARTS_FILE).write_text(json.dumps({"orders": {"0": 3}, "fingerprint": {"0": 4}}))

    assert read_starts(tmp_path) == {"orders": {0: 3}, "fingerprint": {0: 4}}
