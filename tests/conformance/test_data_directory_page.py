"""The data directory's page lists each file; a broker starts without the removable ones."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

import waiting
from conformance.reader import ROOT
from duolog.testing import Client, EmbeddedCluster

PAGE: Final = ROOT / "docs/guide/data-directory.md"
RECORDS: Final = 60
SETTINGS: Final = {
    "log.segment.bytes": "16384",
    "log.recovery.point.bytes": "20000",
}
TIMEOUT_S: Final = 30


def rows(section: str) -> dict[str, str]:
    """Return the table column about removing each file, by file name."""
    table = PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| (`.*?) \| .*? \| (.*?) \|$", table, re.MULTILINE)
    names = {
        named: reported for cell, reported in found for named in re.findall(r"`([^`]+)`", cell)
    }
    assert names
    return names


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a row's name: ID, P, N, NAME match any text, `*` any part."""
    text = re.escape(name).replace(r"\*", "[^/]*")
    for word, any_of in (
        ("NAME", "[^/]+"),
        ("orders", "[^/]+"),
        ("ID", "[0-9a-f-]{36}"),
        ("P", r"\d+"),
        ("N", r"\d{20}"),
    ):
        text = re.sub(rf"\b{word}\b", any_of.replace("\\", r"\\"), text)
    # A name without a directory is next to the previous one; a directory covers its contents.
    return re.compile(rf"(?:.*/)?{text}{'.*' if name.endswith('/') else ''}")


def undescribed(directory: Path, section: str) -> list[str]:
    """Return the files below a directory that no row of a section lists."""
    known = [pattern(name) for name in rows(section)]
    files = (str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
    return [file for file in files if not any(one.fullmatch(file) for one in known)]


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data directory with segments, transactions and configs, whose broker was stopped."""
    directory = tmp_path / "data"
    with EmbeddedCluster(directory, SETTINGS) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("payments", partitions=1)
        for number in range(RECORDS):
            client.produce("payments", str(number), "x" * 2000)
        _abort(cluster.bootstrap_servers)
        _wait_for(directory, "recovery-point")
        cluster.stop()
        yield directory


def _abort(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "payments"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("payments", "aborted")
    producer.flush()
    producer.abort_transaction(30)


def _wait_for(directory: Path, name: str) -> None:
    waiting.wait_until(lambda: any(directory.rglob(name)), lambda: f"no {name}", TIMEOUT_S)


def test_page_lists_each_file_of_a_broker(data: Path) -> None:
    assert undescribed(data, "Broker files") == []


def test_broker_starts_without_the_removable_files(data: Path) -> None:
    removable = [
        pattern(name)
        for name, reported in rows("Broker files").items()
        if reported.startswith("yes")
    ]
    files = [path for path in data.rglob("*") if path.is_file()]
    gone = [
        path
        for path in files
        if any(one.fullmatch(str(path.relative_to(data))) for one in removable)
    ]
    assert {".lock", "clean-shutdown", "recovery-point"} <= {path.name for path in gone}
    assert {".index", ".timeindex"} <= {path.suffix for path in gone}
    for path in gone:
        path.unlink()

    with EmbeddedCluster(data_dir=data) as cluster:
        kept = Client(cluster.bootstrap_servers).read("payments")

    assert [record.key_text for record in kept] == [str(number) for number in range(RECORDS)]
