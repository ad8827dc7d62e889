"""Checkpoints of one moment: which look at them fits a cut, and which files belong to it."""

import base64
import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from duolog.cli.backup.ahead import Ahead, applications_ahead
from duolog.cli.backup.checkpoint_files import read_start_files, stage_files
from duolog.cli.backup.checkpoint_scan import find_applications, scan
from duolog.cli.backup.taking import fitting_look
from duolog.cli.start.layout import Layout
from duolog.core.ids import TopicId
from duolog.log.backup.copies import Copy, Piece
from duolog.log.backup.cut import Cut, TopicCut
from duolog.log.backup.log_source import Moved
from duolog.log.backup.manifest import Manifest
from duolog.log.backup.packs import PackReader, PackWriter
from duolog.log.data_directory.topics import TopicEntry
from duolog.log.files.disk import RealDisk

APPLICATION = "checkpoints/shop"
TOPIC_ID = TopicId(UUID("11111111-2222-3333-4444-555555555555"))


class Checkpoint:
    """A checkpoint as Spark writes one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / APPLICATION
        self.batch = -1
        for name in ("offsets", "commits", "state/0/0/SSTs"):
            (self.path / "spark" / name).mkdir(parents=True)
        self.write("application.json", "{}")
        self.write("owner.json", "{}")
        self.write("positions.json", "old")
        self.write("spark/metadata", "{}")

    def write(self, name: str, text: str) -> None:
        """Replace a file by another one, as Spark does."""
        path = self.path / name
        temporary = path.with_name(f".{path.name}.new.tmp")
        temporary.write_text(text)
        temporary.rename(path)

    def plan(self) -> None:
        self.batch += 1
        self.write(f"spark/offsets/{self.batch}", "v2")
        self.write(f"spark/offsets/.{self.batch}.crc", "crc")
        self.write(f"spark/state/0/0/{self.batch + 1}_{uuid4()}.changelog", "state")
        self.write(f"spark/state/0/0/SSTs/{900 + self.batch:06d}-{uuid4()}.sst", "rows")

    def commit(self) -> None:
        self.write(f"spark/commits/{self.batch}", "v2")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = Checkpoint(tmp_path)
    for _ in range(3):
        made.plan()
        made.commit()
    return made


def cut_at(taken_ns: int, ends: dict[int, int] | None = None) -> Cut:
    entry = TopicEntry("orders", TOPIC_ID, 2)
    return Cut("cluster", 0, 0, taken_ns, (TopicCut(entry, ends or {}),))


def test_a_look_fits_if_nothing_was_committed_around_the_cut(checkpoint: Checkpoint) -> None:
    before, after = scan(checkpoint.root), scan(checkpoint.root)

    assert fitting_look([before, after], cut_at(before.ended_ns)) is before


@pytest.mark.parametrize("step", ["plan", "commit"])
def test_a_micro_batch_around_the_cut_needs_another_cut(checkpoint: Checkpoint, step: str) -> None:
    if step == "commit":
        checkpoint.plan()
    before = scan(checkpoint.root)
    getattr(checkpoint, step)()
    after = scan(checkpoint.root)

    with pytest.raises(Moved, match="has changed"):
        fitting_look([before, after], cut_at(before.ended_ns))


def test_looks_on_one_side_of_the_cut_prove_nothing(checkpoint: Checkpoint) -> None:
    first, second = scan(checkpoint.root), scan(checkpoint.root)

    with pytest.raises(Moved, match="faster"):
        fitting_look([first, second], cut_at(second.ended_ns + 1))
    with pytest.raises(Moved, match="faster"):
        fitting_look([first, second], cut_at(first.began_ns - 1))


def test_a_look_during_the_cut_proves_nothing(checkpoint: Checkpoint) -> None:
    during, after = scan(checkpoint.root), scan(checkpoint.root)

    with pytest.raises(Moved, match="faster"):
        fitting_look([during, after], cut_at(during.began_ns))
    with pytest.raises(Moved, match="faster"):
        fitting_look([during, after], cut_at(after.began_ns + 1))


def test_the_look_just_before_the_cut_counts(checkpoint: Checkpoint) -> None:
    old = scan(checkpoint.root)
    checkpoint.plan()
    before, after = scan(checkpoint.root), scan(checkpoint.root)

    assert fitting_look([old, before, after], cut_at(before.ended_ns)) is before


def test_only_files_of_the_look_are_kept(checkpoint: Checkpoint) -> None:
    look = scan(checkpoint.root)
    checkpoint.write("positions.json", "new")
    checkpoint.plan()
    checkpoint.commit()

    files = stage_files(checkpoint.root, look)

    names = {path.removeprefix(f"{APPLICATION}/") for path in files}
    assert {"application.json", "positions.json", "spark/metadata"} <= names
    assert {f"spark/offsets/{number}" for number in range(3)} <= names
    assert {f"spark/offsets/.{number}.crc" for number in range(3)} <= names
    assert not {"owner.json", "spark/offsets/3", "spark/commits/3"} & names
    versions = sorted(Path(name).name[0] for name in names if name.endswith(".changelog"))
    assert versions == ["1", "2", "3"]
    assert sum(name.endswith(".sst") for name in names) == 4
    assert files[f"{APPLICATION}/positions.json"].content == b"old"


def test_files_stay_readable_when_spark_removes_them(checkpoint: Checkpoint) -> None:
    files = stage_files(checkpoint.root, scan(checkpoint.root))
    (checkpoint.path / "spark/offsets/0").unlink()

    assert Path(files[f"{APPLICATION}/spark/offsets/0"].path).read_text() == "v2"


@pytest.mark.parametrize("gone", [True, False])
def test_a_control_file_that_has_changed_needs_another_cut(
    checkpoint: Checkpoint, *, gone: bool
) -> None:
    look = scan(checkpoint.root)
    if gone:
        (checkpoint.path / "spark/offsets/0").unlink()
    else:
        checkpoint.write("application.json", '{"committed": "spark-2"}')

    with pytest.raises(Moved, match="has changed"):
        stage_files(checkpoint.root, look)


def test_state_that_spark_may_have_removed_needs_another_cut(checkpoint: Checkpoint) -> None:
    look = scan(checkpoint.root)
    for _ in range(51):
        checkpoint.plan()
        checkpoint.commit()

    with pytest.raises(Moved, match="too far on"):
        stage_files(checkpoint.root, look)


def test_a_prepared_epoch_keeps_its_state(checkpoint: Checkpoint) -> None:
    checkpoint.write("spark/state/0/0/4_x.changelog", "state of epoch 3")
    checkpoint.write("prepared.3", "entry")

    files = stage_files(checkpoint.root, scan(checkpoint.root))

    assert f"{APPLICATION}/prepared.3" in files
    assert f"{APPLICATION}/spark/state/0/0/4_x.changelog" in files


def test_applications_and_queries_of_services_are_found(checkpoint: Checkpoint) -> None:
    (checkpoint.root / "service/checkpoints/CSAS_LATE_0").mkdir(parents=True)
    (checkpoint.root / "server/default_/checkpoints/CTAS_TOTALS_0").mkdir(parents=True)
    (checkpoint.root / "checkpoints/notes.txt").touch()

    assert find_applications(checkpoint.root) == [
        APPLICATION,
        "service/checkpoints/CSAS_LATE_0",
        "server/default_/checkpoints/CTAS_TOTALS_0",
    ]


def test_second_names_of_an_earlier_attempt_are_not_taken_for_applications(
    checkpoint: Checkpoint,
) -> None:
    stage_files(checkpoint.root, scan(checkpoint.root))

    assert find_applications(checkpoint.root) == [APPLICATION]


def test_what_a_start_for_a_team_needs_is_kept(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    layout.certificates.mkdir()
    for path in (layout.password, layout.login, layout.certificates / "server.pem"):
        path.write_text(path.name)

    files = read_start_files(tmp_path)

    found = {path: source.content for path, source in files.items()}
    assert found == {
        "admin.password": b"admin.password",
        "certificates/server.pem": b"server.pem",
    }


def test_an_application_called_state_is_not_taken_for_a_store(tmp_path: Path) -> None:
    (tmp_path / "checkpoints/state/spark/offsets").mkdir(parents=True)
    (tmp_path / "checkpoints/state/spark/offsets/0").write_text("v2")

    look = scan(tmp_path)

    assert "checkpoints/state/spark/offsets/0" in look.control


# Positions


def manifest_of(directory: Path, positions: dict[str, int], topic_id: UUID = TOPIC_ID) -> Manifest:
    """Return a backup in which an application is at these positions of `orders`."""
    entry = f"v2\n{{}}\n{json.dumps({'orders': positions})}\n-"
    shown = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    writer = PackWriter(RealDisk(), str(directory))
    files = {}
    for name, text in (
        ("application.json", json.dumps({"topics": {"orders": shown}})),
        ("spark/offsets/9", f"v2\n{{}}\n{json.dumps({'orders': {'0': 10**6}})}"),
        ("spark/offsets/10", entry),
    ):
        pieces: tuple[Piece, ...] = writer.write([text.encode()])
        files[f"{APPLICATION}/{name}"] = Copy(len(text), pieces)
    writer.close()
    return Manifest(1, 1, "", cut_at(1, {0: 100, 1: 50}), {}, (), files)


@pytest.mark.parametrize(
    ("positions", "found"),
    [
        ({"0": 100, "1": 50}, []),
        ({"0": 101, "1": 50}, [Ahead("shop", "orders", 0, 101, 100)]),
        ({"2": 1}, [Ahead("shop", "orders", 2, 1, 0)]),
    ],
)
def test_a_position_beyond_the_end_of_its_topic_is_found(
    tmp_path: Path, positions: dict[str, int], found: list[Ahead]
) -> None:
    manifest = manifest_of(tmp_path, positions)

    assert list(applications_ahead(manifest, PackReader(RealDisk(), str(tmp_path)))) == found


def test_a_topic_of_another_cluster_is_not_compared(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, {"0": 10**6}, uuid4())

    assert list(applications_ahead(manifest, PackReader(RealDisk(), str(tmp_path)))) == []


def test_second_names_are_those_of_the_same_file(checkpoint: Checkpoint) -> None:
    files = stage_files(checkpoint.root, scan(checkpoint.root))

    source = files[f"{APPLICATION}/spark/metadata"]
    assert Path(source.path).samefile(checkpoint.path / "spark/metadata")
