"""`duolog state` over checkpoints on disk, without a broker or a JVM."""

import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner, Result

from duolog.cli.commands.state import state
from duolog.cli.errors import StateMissing
from duolog.cli.main import main
from duolog.engine.changelog.commit_topic import Committed, StoredCommits
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.generations import BEFORE_ALL
from duolog.engine.errors import CheckpointInUse
from duolog.engine.restore_plan import RestorePlan
from duolog.runtime.application import Application
from duolog.runtime.states import KeptState

STORES = {
    "totals": {"called": 'aggregate of topic "totals"', "level": 0},
    "table-1-store": {"called": 'table of topic "shops"', "level": 0},
}
SHAPE = {"tasks": 2, "sources": ["orders"], "levels": 1, "stores": STORES}
ENTRY = 'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":7,"1":9}}'


def run(*words: str) -> Result:
    return CliRunner().invoke(state, words, catch_exceptions=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, changelog in (("shop", True), ("empty", False), ("torn", False)):
        checkpoint = Checkpoint(tmp_path / "checkpoints" / name)
        versions = {"duolog": "1", "pyspark": "4"}
        checkpoint.pin(name, StartFacts(SHAPE, versions, {"orders": "id"}, changelog=changelog))
        for log, text in (("offsets", ENTRY), ("commits", "v1\n{}")) if name != "empty" else ():
            (checkpoint.spark_dir / log).mkdir(parents=True)
            (checkpoint.spark_dir / log / "4").write_text(text if name != "torn" else "")
            (checkpoint.spark_dir / "metadata").write_text('{"id": "q"}')
    return tmp_path


def test_list_shows_the_state_of_each_application_and_whether_it_can_resume(data: Path) -> None:
    rows = {
        row["application"]: row
        for row in json.loads(run("list", "--data", str(data), "-o", "json").stdout)
    }

    assert {name: row["condition"] for name, row in rows.items()} == {
        "shop": "stopped",
        "empty": "new",
        "torn": "damaged",
    }
    shop = rows["shop"]
    assert (shop["epoch"], shop["tasks"], shop["stores"], shop["changelogs"]) == (4, 2, 2, True)
    assert shop["bytes"] > 0
    assert shop["committed_at"].startswith("20")
    assert rows["empty"]["epoch"] is None


def test_a_checkpoint_without_its_committed_state_is_damaged_and_not_new(data: Path) -> None:
    shop = Checkpoint(data / "checkpoints/shop")
    shop.note_commits()
    shutil.rmtree(shop.spark_dir)

    rows = json.loads(run("list", "--data", str(data), "-o", "json").stdout)

    assert {row["application"]: row["condition"] for row in rows}["shop"] == "damaged"


def test_describe_names_the_stores_and_their_changelogs(data: Path) -> None:
    done = run("describe", "shop", "--data", str(data), "-o", "jsonl")

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["store"], row["of"], row["changelog"]) for row in rows] == [
        ("table-1-store", 'table of topic "shops"', "shop-table-1-store-changelog"),
        ("totals", 'aggregate of topic "totals"', "shop-totals-changelog"),
    ]
    assert "condition=stopped epoch=4" in done.stderr
    assert "format=2 duolog=1 pyspark=4" in done.stderr


def test_describe_shows_the_next_offsets_of_the_sources(data: Path) -> None:
    done = run("describe", "shop", "--positions", "--data", str(data), "-o", "csv")

    assert done.stdout == "topic,partition,offset\norders,0,7\norders,1,9\n"


def test_an_unknown_name_suggests_the_nearest_one(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StateMissing, match='"shopp" has no checkpoint') as caught:
        run("describe", "shopp", "--data", str(data))

    assert 'Did you mean "shop"?' in caught.value.hint
    assert main(["state", "describe", "shopp", "--data", str(data)]) == 3
    assert 'Did you mean "shop"?' in capsys.readouterr().err


def test_a_checkpoint_of_another_format_is_reported(data: Path) -> None:
    path = data / "checkpoints/shop/application.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))

    rows = json.loads(run("list", "--data", str(data), "-o", "json").stdout)

    assert next(row for row in rows if row["application"] == "shop")["condition"] == "other format"
    assert "format=1" in run("describe", "shop", "--data", str(data)).stderr


def test_a_missing_directory_and_one_without_checkpoints_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty table was all."""
    nowhere = tmp_path / "nowhere"

    assert main(["state", "list", "--data", str(nowhere)]) == 3
    assert f'directory "{nowhere}" does not exist' in capsys.readouterr().err
    assert main(["state", "describe", "shop", "--data", str(nowhere)]) == 3
    message = capsys.readouterr().err
    assert f'"shop" has no checkpoint in {nowhere}, which does not exist' in message
    assert main(["state", "list", "--data", str(tmp_path), "-o", "json"]) == 0
    listed = capsys.readouterr()
    assert json.loads(listed.out) == []
    assert f"no application has a checkpoint in {tmp_path}" in listed.err


def test_the_default_search_scope_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert main(["state", "describe", "shop"]) == 3
    assert f"has no checkpoint in {tmp_path / 'duolog'}" in capsys.readouterr().err


def test_whether_one_that_just_starts_has_changelogs_is_not_known(data: Path) -> None:
    """The answer used to be false, for all settings of the start."""
    (data / "checkpoints/starting").mkdir()

    rows = json.loads(run("list", "--data", str(data), "-o", "json").stdout)

    found = {row["application"]: row["changelogs"] for row in rows}
    assert found == {"shop": True, "empty": False, "torn": False, "starting": None}


NOW_MS = 1_700_000_000_000


def committed(epoch: int, at_ms: int | None) -> Committed:
    return Committed(11, epoch, [(10, 4)], "v1", at_ms, "q", 17)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (committed(3, NOW_MS), "number 17, at 2023-11-14T22:13:20+00:00"),
        (
            committed(BEFORE_ALL, NOW_MS),
            "number 17, at 2023-11-14T22:13:20+00:00; it was started since then, without a commit",
        ),
        (committed(BEFORE_ALL, None), "number 17; it was started since then, without a commit"),
    ],
)
def test_a_restore_returns_to_the_commit_that_list_shows(
    data: Path, monkeypatch: pytest.MonkeyPatch, found: Committed, message: str
) -> None:
    """Directly after a start it was reported as "last commit -1 of generation 11, before a restore"."""
    with restorable(data, monkeypatch, found) as restore:
        done = restore("--dry-run")

    lines = done.stderr.splitlines()
    shop = data / "checkpoints/shop"
    assert lines == [
        f'application "shop": last commit: {message}',
        f"would move {shop}/spark to spark.before-restore",
        'would restore store "table-1-store" from topic "shop-table-1-store-changelog"',
        'would restore store "totals" from topic "shop-totals-changelog": at most 1,234 entries',
        'would resume topic "orders": partition 0 at 7, partition 1 at 9',
    ]
    assert done.exit_code == 0


def test_a_dry_run_reports_mismatches_and_exits_with_conflict(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = 'Changelog "shop-totals-changelog" is missing.'
    with restorable(data, monkeypatch, committed(3, NOW_MS), [missing]) as restore:
        done = restore("--dry-run")

    assert done.stderr.splitlines()[-1] == f"does not match: {missing}"
    assert done.exit_code == 6


def test_an_earlier_copy_and_an_unfinished_restore_are_reported(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = data / "checkpoints/shop"
    (shop / "spark.before-restore").mkdir()
    with restorable(data, monkeypatch, committed(3, NOW_MS)) as restore:
        replaced = restore("--dry-run")
        asked = restore()
        (shop / "restoring").touch()
        struck = restore("--dry-run")

    assert "to spark.before-restore, replacing the existing one" in replaced.stderr
    assert f"would move {shop}/spark to" in asked.stderr, "before it asks"
    assert "Cannot ask for confirmation without a terminal. Add --yes." in asked.stderr
    assert f"would remove {shop}/spark, left by an unfinished restore" in struck.stderr


def test_a_restore_of_one_that_runs_is_refused_and_so_is_its_dry_run(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dry run said what would be done, and then it was refused."""
    refuses = MagicMock(side_effect=CheckpointInUse("runs in another process"))
    monkeypatch.setattr(KeptState, "ensure_stopped", refuses)

    with (
        restorable(data, monkeypatch, committed(3, NOW_MS)) as restore,
        pytest.raises(CheckpointInUse),
    ):
        restore("--dry-run")


@contextmanager
def restorable(
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: Committed,
    problems: Sequence[str] = (),
) -> Iterator[Callable[..., Result]]:
    """Let the topics of application `shop` say what was committed, and what is in them; no broker is asked."""
    fixed = Checkpoint(data / "checkpoints/shop").file.content()
    assert fixed is not None
    kept = StoredCommits(fixed, found)
    monkeypatch.setattr(Application, "what_is_kept", lambda _application: kept)
    changelogs = {store: f"shop-{store}-changelog" for store in STORES}
    entries, positions = {"shop-totals-changelog": 1234}, {"orders": {0: 7, 1: 9}}
    plan = RestorePlan(changelogs, entries, positions, problems)
    monkeypatch.setattr(Application, "restore_plan", lambda _application, _kept: plan)
    path = data / "shop.py"
    path.write_text(
        'from duolog import Topology\n\ntopology = Topology("shop")\n'
        'topology.stream("a", value="n INT").to("b")\n'
    )
    yield lambda *words: run("restore", str(path), "--data", str(data), *words)


def test_only_one_start_option_is_allowed(data: Path) -> None:
    done = run("reset", "shop", "--data", str(data), "--to-latest", "--by-duration", "2h")

    assert done.exit_code == 2
    assert "Use only one of" in done.stderr


class FakeRows(dict[object, object]):
    def timestamp_ms(self, key: object) -> int:
        del key
        return 7


def test_a_dump_keeps_the_digits_of_numbers_and_is_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"d": Decimal("1.10"), "nan": math.nan, "raw": b"\xff", "big": 12345678901234567890}
    store = SimpleNamespace(all=lambda: FakeRows({"ann": row}))
    application = SimpleNamespace(store=lambda _name: store)
    monkeypatch.setattr(
        "duolog.cli.commands.state._application", lambda *_: nullcontext(application)
    )
    file = tmp_path / "a.py"
    file.touch()

    result = CliRunner().invoke(state, ["dump", str(file), "s"])

    assert result.output == (
        '{"key":"ann","value":{"d":1.10,"nan":"nan","raw":"/w==","big":12345678901234567890},"timestamp":7}\n'
    )
