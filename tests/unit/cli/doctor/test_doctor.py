"""`duolog doctor` on real directories: its output, its exit status, and what it leaves alone."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duolog.cli.commands.doctor import doctor
from duolog.log.files.disk import RealDisk
from duolog.log.log_manager import LogManager
from duolog.record import Record, encode_batch
from duolog.testing.clock import FakeClock


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(doctor, list(map(str, arguments)), standalone_mode=False)
    if result.exception:
        raise result.exception
    return result


def rows(*arguments: object) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = json.loads(run(*arguments, "-o", "json").stdout)
    return shown


def filled(path: Path, topic: str = "orders", *, key: bytes = b"k") -> LogManager:
    manager = LogManager(RealDisk(), str(path), FakeClock(), {})
    manager.topics.create(topic, 1)
    log = manager.log(topic, 0)
    for number in range(10):
        log.append(memoryview(encode_batch([Record(0, number, key, b"v" * 50)])))
    log.write_staged()
    log.high_watermark = log.log_end_offset
    return manager


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    filled(path).close()
    return path


def files(path: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def segment(data: Path) -> Path:
    return next(data.glob("topics/*/0/*.log"))


def damage(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_a_whole_directory(data: Path) -> None:
    result = run(data)

    assert result.return_value == 0
    assert result.stdout == ""
    assert "verified 1 topic, 1 partition, 1 segment, 10 record batches" in result.stderr
    assert "nothing is wrong" in result.stderr


def test_damage_is_a_row_and_exit_status_1(data: Path) -> None:
    damage(segment(data), 300)

    result = run(data)

    assert result.return_value == 1
    heads, line = result.stdout.splitlines()
    assert heads.split() == [
        "SEVERITY", "TOPIC", "PARTITION", "OFFSET", "POSITION", "PATH", "PROBLEM", "REPAIR",
    ]  # fmt: skip
    assert line.startswith("damage    orders          0")
    (row,) = rows(data)
    assert (row["topic"], row["partition"], row["offset"]) == ("orders", 0, 2)
    assert Path(data, row["path"]) == segment(data)
    assert row["repair"] is None


@pytest.mark.parametrize("options", [[], ["--salvage", "out"]])
def test_a_running_broker_is_left_alone(tmp_path: Path, options: list[str]) -> None:
    manager = filled(tmp_path / "data")
    before = files(tmp_path)

    result = run(tmp_path / "data", *(tmp_path / one if one == "out" else one for one in options))

    assert result.return_value == 2
    assert "is in use" in result.stderr
    assert files(tmp_path) == before
    manager.close()


def test_read_only_examines_a_copy_without_its_lock_file(data: Path) -> None:
    (data / ".lock").unlink()
    before = files(data)

    assert run(data, "--read-only").return_value == 0

    assert files(data) == before


@pytest.mark.parametrize("name", [None, "empty"])
def test_another_directory_is_exit_status_2(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "empty").mkdir()

    result = run(tmp_path / (name or "missing"))

    assert result.return_value == 2
    assert "is not a data directory of Duolog" in result.stderr


def test_a_dry_run_says_what_a_repair_would_do_and_a_repair_does_it(data: Path) -> None:
    damage(data / "last-start", 30)
    before = files(data)

    (row,) = rows(data)

    assert (row["severity"], row["path"], row["repair"]) == (
        "rebuildable",
        "last-start",
        "remove it",
    )
    assert {p: c for p, c in files(data).items() if not p.endswith(".lock")} == {
        p: c for p, c in before.items() if not p.endswith(".lock")
    }
    result = run(data, "--repair")
    assert result.return_value == 0
    assert "repaired last-start: remove it" in result.stderr
    assert rows(data) == []


def test_salvage_copies_the_rest_and_lists_what_is_lost(data: Path, tmp_path: Path) -> None:
    damage(segment(data), 300)
    before = files(data)
    out = tmp_path / "out"

    result = run(data, "--salvage", out, "-o", "json")

    assert result.return_value == 1
    (lost,) = json.loads(result.stdout)
    assert (lost["topic"], lost["first_offset"], lost["last_offset"]) == ("orders", 2, 2)
    assert files(data) == before
    manager = LogManager(RealDisk(), str(out), FakeClock(), {})
    log = manager.log("orders", 0)
    assert (log.log_start_offset, log.log_end_offset) == (0, 10)
    manager.close()
    assert run(out).return_value == 0


@pytest.mark.parametrize("place", ["data", "data/inner", "."])
def test_a_salvage_into_its_source_is_refused(tmp_path: Path, data: Path, place: str) -> None:
    before = files(data)

    assert run(data, "--salvage", tmp_path / place).return_value == 2

    assert files(data) == before


@pytest.mark.parametrize(
    "topic", ["__consumer_offsets", "__transaction_state", "__security", "_schemas"]
)
def test_a_record_that_no_service_can_read_is_found(tmp_path: Path, topic: str) -> None:
    filled(tmp_path / "data", topic, key=b"\x00").close()

    found = rows(tmp_path / "data")

    assert {row["topic"] for row in found} == {topic}
    assert found[0]["offset"] == 0
    assert "cannot be decoded" in found[0]["problem"]


def test_checkpoints_of_applications_are_verified(tmp_path: Path) -> None:
    filled(tmp_path / "broker").close()
    offsets = tmp_path / "checkpoints/shop/spark/offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_bytes(b"v1\n{}\n")
    sums = struct.pack(">4sI", b"crc\0", 512) + struct.pack(">I", zlib.crc32(b"v1\n{}\n"))
    (offsets / ".0.crc").write_bytes(sums)
    (tmp_path / "checkpoints/shop/application.json").write_text("{}")
    assert rows(tmp_path) == []

    (offsets / "0").write_bytes(b"v1\n{1\n")
    (tmp_path / "checkpoints/shop/application.json").write_text("{")

    assert {row["path"]: row["problem"] for row in rows(tmp_path)} == {
        "checkpoints/shop/application.json": "the file holds no JSON object",
        "checkpoints/shop/spark/offsets/0": "the file does not match its checksum",
    }


def test_columns_are_described(data: Path) -> None:
    assert "severity" in run(data, "-o", "help").stdout
    assert "first_offset" in run(data, "--salvage", "x", "-o", "help").stdout
