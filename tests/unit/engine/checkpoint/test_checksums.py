"""Hadoop's checksums, from files that Hadoop has written."""

import json
import zlib
from pathlib import Path
from typing import Final

import pytest

from duolog.engine.checkpoint.checkpoint_files import ensure_readable
from duolog.engine.checkpoint.checksums import matches_checksum, write_with_checksum
from duolog.engine.checkpoint.state_schemas import relocate_schemas
from duolog.engine.errors import CheckpointDamaged

# As Hadoop has written them: `metadata` of a query, and the checksum next to it.
METADATA: Final = b'{"id":"1ffd7f50-0c08-42f6-bcbf-8c1602a5cc47"}'
OF_HADOOP: Final = bytes.fromhex("6372630000000200af044da6")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 5000])
def test_a_checksum_matches_until_a_bit_is_flipped(tmp_path: Path, length: int) -> None:
    path = tmp_path / "7"
    write_with_checksum(path, "x" * length)
    assert (tmp_path / ".7.crc").stat().st_size == 8 + 4 * -(-length // 512)
    assert matches_checksum(path)

    path.write_bytes(path.read_bytes() + b"y")

    assert matches_checksum(path) == (length % 512 == 0), "one more piece has no sum"
    if length:
        write_with_checksum(path, "x" * length)
        path.write_bytes(b"z" + path.read_bytes()[1:])
        assert not matches_checksum(path)


def test_the_checksum_is_the_one_that_hadoop_writes(tmp_path: Path) -> None:
    path = tmp_path / "3"
    write_with_checksum(path, METADATA.decode())

    assert (tmp_path / ".3.crc").read_bytes() == OF_HADOOP


@pytest.mark.parametrize(
    "left", [b"", b"crc", b"crc\0\0\0\2\0", bytes(12), OF_HADOOP[:9] + bytes(3)]
)
def test_a_checksum_that_a_power_cut_truncated_is_ignored(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "3").write_bytes(METADATA)
    assert matches_checksum(tmp_path / "3")

    (tmp_path / ".3.crc").write_bytes(left)

    assert matches_checksum(tmp_path / "3")


def test_a_file_with_a_truncated_checksum_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "7"
    write_with_checksum(path, "x" * 1000)
    for left in (
        (tmp_path / ".7.crc").read_bytes()[:12],
        (tmp_path / ".7.crc").read_bytes()[:12] + bytes(4),
    ):
        (tmp_path / ".7.crc").write_bytes(left)
        path.write_text("x" * 1000)
        assert matches_checksum(path)

        path.write_text("z" + "x" * 999)

        assert not matches_checksum(path)


def test_a_checksum_that_ends_with_zeros_is_compared(tmp_path: Path) -> None:
    text = next(str(n) for n in range(10**6) if not zlib.crc32(str(n).encode()) & 0xFF)
    write_with_checksum(tmp_path / "7", text)
    assert matches_checksum(tmp_path / "7")

    (tmp_path / "7").write_text(text[:-1] + "x")

    assert not matches_checksum(tmp_path / "7")


def test_a_missing_checksum_is_damage(tmp_path: Path) -> None:
    (tmp_path / "3").write_bytes(METADATA)
    (tmp_path / ".3.crc").write_bytes(b"CRC\0\0\0\2\0abcd")

    assert not matches_checksum(tmp_path / "3")


@pytest.fixture
def spark_dir(tmp_path: Path) -> Path:
    """A checkpoint of Spark's after three micro-batches, with an operator that keeps state."""
    directory = tmp_path / "orders" / "spark"
    schema = directory / "state/0/_stateSchema/default/0_a"
    entries = {
        "metadata": json.dumps({"id": "q"}),
        "sources/0/0": '0v1\n{"orders":{"0":0}}',
        "state/0/_stateSchema/default/0_a": "v3 of a schema",
        "state/0/_metadata/v2/0": "v2\n"
        + json.dumps({"stateStoreInfo": [{"stateSchemaFilePaths": [f"file:{schema}"]}]}),
    }
    for number in range(3):
        entries[f"offsets/{number}"] = f'v1\n{{}}\n{{"orders":{{"0":{number + 110}}}}}'
        entries[f"commits/{number}"] = "v2\n{}"
    for name, text in entries.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        write_with_checksum(directory / name, text)
    ensure_readable(directory, "orders")
    return directory


@pytest.mark.parametrize(
    "name",
    [
        "offsets/1",
        "offsets/2",
        "commits/2",
        "metadata",
        "sources/0/0",
        "state/0/_metadata/v2/0",
        "state/0/_stateSchema/default/0_a",
    ],
)
def test_a_flipped_bit_is_refused_by_name(spark_dir: Path, name: str) -> None:
    """An offset with a changed digit used to be accepted: ten events were counted twice."""
    path = spark_dir / name
    content = path.read_text()
    place = content.rindex(next(of for of in reversed(content) if of.isalnum()))
    changed = "0" if content[place] != "0" else "1"
    path.write_text(f"{content[:place]}{changed}{content[place + 1 :]}")

    with pytest.raises(CheckpointDamaged, match="is damaged") as refused:
        ensure_readable(spark_dir, "orders")

    assert str(path) in refused.value.message


def test_an_entry_that_leads_to_other_schemas_gets_a_checksum_of_its_own(
    spark_dir: Path, tmp_path: Path
) -> None:
    moved = (tmp_path / "orders").rename(tmp_path / "moved")

    relocate_schemas(moved)

    entry = moved / "spark/state/0/_metadata/v2/0"
    assert f"file:{moved}" in entry.read_text()
    assert entry.with_name(".0.crc").exists()
    ensure_readable(moved / "spark", "orders")
    flip(entry)
    assert not matches_checksum(entry)


def test_a_damaged_entry_that_leads_to_other_schemas_gets_no_new_checksum(
    spark_dir: Path, tmp_path: Path
) -> None:
    moved = (tmp_path / "orders").rename(tmp_path / "moved")
    entry = moved / "spark/state/0/_metadata/v2/0"
    entry.write_text(entry.read_text().replace("v2", "v3", 1))

    relocate_schemas(moved)

    with pytest.raises(CheckpointDamaged, match="is damaged"):
        ensure_readable(moved / "spark", "orders")
