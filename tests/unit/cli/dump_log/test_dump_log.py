"""`duolog dump-log` over a data directory that a real log wrote."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duolog.cli.commands.dump_log import dump_log
from duolog.coordinator.records import OffsetChange, OffsetRecord
from duolog.coordinator.transactions.records import TransactionChange, TransactionRecord
from duolog.core.errors import ConfigError
from duolog.core.ids import TopicPartition
from duolog.log.files.disk import RealDisk
from duolog.log.log_manager import LogManager
from duolog.log.partition.partition_log import PartitionLog
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer
from duolog.testing.clock import FakeClock

NAME = "00000000000000000000"


def open_log(path: Path, **settings: str) -> tuple[LogManager, PartitionLog]:
    manager = LogManager(RealDisk(), str(path / "data"), FakeClock(), {})
    if manager.topics.get("t") is None:
        texts = {name.replace("_", "."): text for name, text in settings.items()}
        manager.topics.create("t", 1, texts)
    return manager, manager.log("t", 0)


def append(log: PartitionLog, *records: Record, **more: Any) -> None:
    log.append(memoryview(encode_batch(records, **more)))
    log.write_staged()
    log.high_watermark = log.log_end_offset


def run(*arguments: object) -> Result:
    # Click returns the command's result only with standalone_mode=False.
    result = CliRunner().invoke(dump_log, list(map(str, arguments)), standalone_mode=False)
    if result.exception:
        raise result.exception
    return result


def rows(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").output.splitlines()]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A partition with two batches, one of a transaction that was aborted."""
    manager, log = open_log(tmp_path)
    append(log, Record(0, 10, b"k", b"v", (("h", b"x"),)), Record(1, 11, None, b"\xff\xfe"))
    append(log, Record(0, 12, b"k", b"v"), producer=BatchProducer(7, 1, 0, transactional=True))
    log.append_marker(7, 1, commit=False, coordinator_epoch=3, now_ms=13)
    log.write_staged()
    manager.close()
    return Path(log.directory)


def test_batches_are_listed_with_their_positions(directory: Path) -> None:
    first, second, marker = rows(directory / f"{NAME}.log")

    assert (first["position"], first["base_offset"], first["last_offset"]) == (0, 0, 1)
    assert (first["records"], first["base_timestamp"], first["max_timestamp"]) == (2, 10, 11)
    assert (first["producer_id"], first["transactional"], first["control"]) == (-1, False, False)
    assert second["position"] == first["size_bytes"]
    assert (second["producer_id"], second["producer_epoch"], second["base_sequence"]) == (7, 1, 0)
    assert (marker["base_offset"], marker["control"]) == (3, True)


def test_records_and_markers_are_listed_on_request(directory: Path) -> None:
    found = [row for row in rows(directory / f"{NAME}.log", "--records") if "record" in row]

    file = str(directory / f"{NAME}.log")
    assert found == [
        {
            "file": file,
            "record": 0,
            "timestamp": 10,
            "key": "k",
            "value": "v",
            "headers": [["h", "x"]],
        },
        {"file": file, "record": 1, "timestamp": 11, "key": None, "value": {"base64": "//4="}},
        {"file": file, "record": 2, "timestamp": 12, "key": "k", "value": "v"},
        {"file": file, "record": 3, "timestamp": 13, "control": "ABORT", "coordinator_epoch": 3},
    ]


def test_people_get_a_line_for_each_with_names_and_values(directory: Path) -> None:
    result = run(directory / f"{NAME}.log", "--records")

    lines = result.output.splitlines()
    assert result.return_value == 0
    assert lines[0] == f"# {directory / f'{NAME}.log'}"
    assert lines[1].startswith("position=0 base_offset=0 last_offset=1 records=2 ")
    assert lines[2] == '  record=0 timestamp=10 key=k value=v headers=[["h","x"]]'


@pytest.mark.parametrize("codec", range(5))
def test_compressed_records_are_opened(tmp_path: Path, codec: int) -> None:
    from duolog.record.compression import Compression  # noqa: PLC0415

    manager, log = open_log(tmp_path)
    append(log, Record(0, 1, b"k", b"v" * 500), compression=Compression(codec))
    manager.close()

    batch, record = rows(Path(log.directory) / f"{NAME}.log", "--records")

    assert batch["compression"] == Compression(codec).name.lower()
    assert record["value"] == "v" * 500


def test_a_directory_means_all_its_files(tmp_path: Path) -> None:
    manager, log = open_log(tmp_path, segment_bytes="1048576", index_interval_bytes="1")
    for index in range(2000):
        append(log, Record(0, index, b"k", b"v" * 1000), producer=BatchProducer(9, 0, index))
    manager.close()

    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows(log.directory):
        found.setdefault(Path(row["file"]).name, []).append(row)

    assert {f"{NAME}.log", f"{NAME}.index", f"{NAME}.timeindex", "recovery-point"} <= set(found)
    assert not [row for file in found.values() for row in file if "error" in row]
    (batch,) = [row for row in found[f"{NAME}.log"] if row["base_offset"] == 1]
    assert found[f"{NAME}.index"][0]["segment_position"] == batch["position"]
    assert found[f"{NAME}.index"][0]["offset"] == 1
    point, producer = found["recovery-point"]
    assert point["next_offset"] == 2000
    assert (producer["producer_id"], producer["producer_epoch"]) == (9, 0)
    assert found["leader-epoch-checkpoint"][0]["start_offset"] == 0
    batches = sum(len(rows) for name, rows in found.items() if name.endswith(".log"))
    assert batches == 2000


def test_aborted_transactions_are_listed(tmp_path: Path) -> None:
    manager, log = open_log(tmp_path)
    append(
        log, Record(0, 12, b"k", b"v" * 20_000), producer=BatchProducer(7, 1, 0, transactional=True)
    )
    log.append_marker(7, 1, commit=False, coordinator_epoch=3, now_ms=13)
    log.write_staged()
    manager.close()

    (row,) = rows(Path(log.directory) / f"{NAME}.txnindex")

    assert (row["producer_id"], row["first_offset"], row["marker_offset"]) == (7, 0, 1)


def test_a_wrong_checksum_is_reported_with_its_position_and_the_rest_is_read(
    directory: Path,
) -> None:
    path = directory / f"{NAME}.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)

    result = run(path)
    first, second, _ = rows(path)

    assert result.return_value == 1
    assert "DAMAGED: checksum does not match" in result.output
    assert (first["position"], first["error"]) == (0, "checksum does not match")
    assert "error" not in second


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data, at: data[: at + 30], "truncated in its header; ignoring the last 30 bytes"),
        (lambda data, at: data[: at + 65], "record batch of 7"),
        (lambda data, at: data[:at] + b"\0" * 100, "has an unknown magic 0"),
        (
            lambda data, at: data[: at + 8] + b"\0\0\0\1" + data[at + 12 :],
            "has an invalid length 1",
        ),
    ],
)
def test_an_unreadable_batch_is_reported_with_its_position(
    directory: Path, change: Any, problem: str
) -> None:
    path = directory / f"{NAME}.log"
    at = rows(path)[1]["position"]
    path.write_bytes(change(path.read_bytes(), at))

    found = rows(path)

    assert len(found) == 2
    assert found[1]["position"] == at
    assert problem in found[1]["error"]


def test_damaged_indexes_are_reported(tmp_path: Path) -> None:
    (tmp_path / "5.log").write_bytes(bytes(0))
    (tmp_path / "5.index").write_bytes(bytes([0, 0, 0, 1, 0, 0, 0, 9]) * 2 + b"\0")
    (tmp_path / "5.timeindex").write_bytes(bytes(24))
    (tmp_path / "5.txnindex").write_bytes(bytes(34) + b"\0")
    (tmp_path / "recovery-point").write_bytes(b"x" * 60)
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"x")
    (tmp_path / "1.journal").write_bytes(b"x" * 60)

    errors = [(Path(row["file"]).name, row["error"]) for row in rows(tmp_path) if "error" in row]

    assert errors == [
        ("1.journal", "frame is incomplete; ignoring the last 60 bytes"),
        ("5.index", "segment has only 0 bytes"),
        ("5.index", "entry is not greater than the previous one"),
        ("5.index", "entry is truncated"),
        ("5.timeindex", "entry is not greater than the previous one"),
        ("5.txnindex", "entry is invalid"),
        ("5.txnindex", "entry is truncated"),
        ("leader-epoch-checkpoint", "leader epoch file is unreadable"),
        (
            "recovery-point",
            "recovery point is damaged or has an unknown format; recovery reads the whole log",
        ),
    ]


def test_records_of_the_coordinators_are_read(tmp_path: Path) -> None:
    offset = OffsetChange("g", TopicPartition("t", 3), OffsetRecord(42, 1, "note", 1000))
    removed = OffsetChange("g", TopicPartition("t", 4), None)
    transaction = TransactionChange(
        "tx",
        TransactionRecord(producer_id=5, producer_epoch=2, timeout_ms=60_000, updated_at_ms=9),
    )
    manager, log = open_log(tmp_path)
    for change in (offset, removed, transaction):
        append(log, Record(0, 1, change.encode_key(), change.encode_value()))
    manager.close()
    path = Path(log.directory) / f"{NAME}.log"

    first, second, foreign = [row for row in rows(path, "--offsets") if "record" in row]
    *_, last = rows(path, "--transactions")

    assert first["kind"] == "OffsetChange"
    assert first["content"]["group_id"] == "g"
    assert first["content"]["topic_partition"] == {"topic": "t", "partition": 3}
    assert first["content"]["value"]["offset"] == 42
    assert second["content"]["value"] is None
    assert foreign["record"] == 2
    assert last["content"]["transactional_id"] == "tx"
    assert last["content"]["value"]["state"] == "EMPTY"
    assert last["content"]["value"]["producer_id"] == 5


@pytest.mark.parametrize("name", ["notes.txt", "a.index"])
def test_another_file_is_refused_with_the_names_that_are_known(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")

    with pytest.raises(ConfigError, match="is not a log file"):
        run(tmp_path / name)


def test_a_directory_without_log_files_names_partitions_below_it(directory: Path) -> None:
    data = directory.parents[2]

    with pytest.raises(ConfigError, match="contains no log files") as caught:
        run(data)
    with pytest.raises(ConfigError) as of_topics:
        run(directory.parents[1])

    assert caught.value.hint == f"Name a partition: {directory} (t)."
    assert of_topics.value.hint == caught.value.hint


def test_a_directory_of_something_else_is_refused_with_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(ConfigError, match="contains no log files") as caught:
        run(tmp_path)

    assert "topics/ID/0" in caught.value.hint
