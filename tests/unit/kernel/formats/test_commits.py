"""The records and files of commits: each side against the same text."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from duolog.engine.changelog import commit_topic
from duolog.engine.changelog.commit_topic import Committed, CommitTopic
from duolog.engine.changelog.marker_topic import is_marker
from duolog.engine.checkpoint import owner
from duolog.engine.checkpoint.owner import Owner
from duolog.engine.checkpoint.pending_commit import read_pending_commit
from duolog.engine.exactly_once import transactions
from duolog.engine.exactly_once.epochs import Marker
from duolog.engine.exactly_once.executor_transactions import ExecutorTransaction, states_of
from duolog.engine.settings import EngineConfig
from unit.kernel.formats.golden_files import content, rows
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

COMMITS: Final = rows("commit_topic")
MARKERS: Final = rows("epoch_markers")
PARTS: Final = rows("epoch_parts")
ENTRY: Final = content("prepared_entry.spark")
DIGEST: Final = hashlib.sha256(ENTRY).hexdigest()
QUERY: Final = "6f1c1b1e-0d5a-4f0e-8f3d-2b8f6a4c9d10"
OFFSETS: Final = 'v1\n{"batchWatermarkMs":0}\n{"in":{"0":7}}'
START: Final = Committed(3, -1, [(1, 40), (2, 8)], OFFSETS, 1767225600000, QUERY, 8)
OF_CLUSTER: Final = (
    ExecutorTransaction("app-0a1b2c3d-4e5f-1", 4294967296, 3),
    ExecutorTransaction("app-0a1b2c3d-4e5f-2", 41, 0),
)
OWNER: Final = Owner(7, "0a1b2c3d4e5f", "5b0e7a52", "alpha", 4711, process=4242)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a directory with what the kernel has written, and what it has read from the golden files."""
    given, written = tmp_path_factory.mktemp("given"), tmp_path_factory.mktemp("written")
    (given / "metadata").write_text(json.dumps({"id": QUERY}))
    (given / "offsets").mkdir()
    (given / "offsets" / "17").write_text(OFFSETS)
    (given / "entry").write_bytes(ENTRY)
    (given / "parts").write_text(PARTS["python", "parts"])
    (given / "marker").write_text(MARKERS["cluster", "epoch"])
    (given / "owner.json").write_bytes(content("owner.json"))
    return written, run_java("CommitFormats", given, written)


def test_the_kernel_writes_the_golden_commit(kernel: tuple[Path, list[str]]) -> None:
    written = (kernel[0] / "commit topic").read_text()

    golden = COMMITS["kernel", "epoch"]
    at_ms = str(json.loads(golden)["committed_at"])
    assert re.sub(r'(?<="committed_at":)\d+', at_ms, written) == golden
    assert " ".join(kernel[1]).count("record app-commits epoch") == 1


def test_python_writes_the_golden_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written: list[tuple[str, str]] = []

    class Producer:
        def __init__(self, _settings: dict[str, Any]) -> None:
            pass

        def produce(self, _topic: str, value: bytes, key: bytes, *, on_delivery: object) -> None:
            assert on_delivery is not None
            written.append((key.decode(), value.decode()))

        def flush(self, _timeout_s: float) -> int:
            return 0

    monkeypatch.setattr(commit_topic, "Producer", Producer)
    topic = CommitTopic(EngineConfig("nowhere:9092", tmp_path), "app")
    application = json.loads(COMMITS["python", "application"])
    topic.write_application(application)
    topic.write_application(application | {"state": "spark-2"})
    topic.write_start(START)

    assert written == [(key, value) for (by, key), value in COMMITS.items() if by == "python"]


def test_python_reads_the_golden_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # In the order of the topic: the kernel's record follows that of the start, with the same key.
    found = [(key, value.encode()) for (_, key), value in COMMITS.items()]
    monkeypatch.setattr(commit_topic, "records_in", lambda *_: found)

    kept = CommitTopic(EngineConfig("nowhere:9092", tmp_path), "app").read()

    assert kept is not None
    assert kept.application == json.loads(COMMITS["python", "application"])
    assert kept.committed == Committed(
        3, 17, [(1, 40), (2, 8)], OFFSETS, 1767225661000, QUERY, 17, "spark"
    )
    assert START.head().items() <= json.loads(COMMITS["kernel", "epoch"]).items()


@pytest.mark.parametrize(("name", "key"), MARKERS)
def test_the_kernel_writes_the_golden_markers(
    name: str, key: str, kernel: tuple[Path, list[str]]
) -> None:
    assert (kernel[0] / name).read_text() == MARKERS[name, key]


def test_the_kernel_passes_the_golden_marker_on(kernel: tuple[Path, list[str]]) -> None:
    passed = json.loads((kernel[0] / "read").read_text())

    assert passed == {"epoch": json.loads(MARKERS["cluster", "epoch"])}


@pytest.mark.parametrize(
    ("name", "parts", "digest"),
    [("settled", (), ""), ("one JVM", (), DIGEST), ("cluster", OF_CLUSTER, DIGEST)],
)
def test_python_reads_the_golden_markers(
    name: str, parts: tuple[ExecutorTransaction, ...], digest: str
) -> None:
    text = MARKERS[name, "epoch"]

    assert Marker.parse({"epoch": json.loads(text)}) == Marker(QUERY, 17, parts, digest)
    assert is_marker("epoch", text.encode())


def test_python_knows_the_golden_owner_for_a_marker() -> None:
    assert is_marker("owner", MARKERS["owner", "owner"].encode())


def test_the_kernel_names_executors_transactions_as_in_the_golden_file(
    kernel: tuple[Path, list[str]],
) -> None:
    for name in ("directory", "transactional id", "states"):
        assert (kernel[0] / name).read_text() == PARTS["kernel", name]


def test_the_kernel_reads_the_golden_parts(kernel: tuple[Path, list[str]]) -> None:
    parts = " ".join(f"part {of.id} {of.producer} {of.epoch}" for of in OF_CLUSTER)
    assert parts in " ".join(kernel[1])


def test_python_writes_the_golden_parts_and_reads_the_golden_states() -> None:
    assert transactions._as_json(OF_CLUSTER) == PARTS["python", "parts"]  # noqa: SLF001
    assert states_of(OF_CLUSTER, json.loads(PARTS["kernel", "states"])) == {
        "app-0a1b2c3d-4e5f-1": "open",
        "app-0a1b2c3d-4e5f-2": "committed",
    }


def test_the_kernel_writes_the_golden_prepared_entry(kernel: tuple[Path, list[str]]) -> None:
    assert (kernel[0] / "prepared_entry").read_bytes() == content("prepared_entry")


def test_python_reads_the_golden_prepared_entry(tmp_path: Path) -> None:
    (tmp_path / "prepared.17").write_bytes(content("prepared_entry"))

    found = read_pending_commit(tmp_path / "prepared.17", 17, "app", digest=DIGEST)

    assert found.encode() == ENTRY


def test_python_writes_and_reads_the_golden_owner(tmp_path: Path) -> None:
    owner._write(tmp_path, OWNER)  # noqa: SLF001 - what `claim` writes, for a machine and a process

    assert (tmp_path / "owner.json").read_bytes() == content("owner.json")
    assert owner._read(tmp_path) == OWNER  # noqa: SLF001


def test_the_kernel_proves_its_ownership_by_the_golden_owner(
    kernel: tuple[Path, list[str]],
) -> None:
    assert kernel[1][-5:] == ["lock", "locked", "owned", "true", "lost"]
    names = {path.name for path in (kernel[0] / "owned").iterdir()}
    assert names == {"owner.json", "owner.lock", "owner.7.beat"}
