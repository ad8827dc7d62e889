"""`duolog state` as a user calls it: commands with a broker, and with a JVM."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.command import Duolog
from duolog.engine.changelog.commit_topic import CommitTopic
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.settings import EngineConfig
from duolog.runtime.broker_process import BrokerProcess
from duolog.testing import Client

STORES = {
    "totals-store": {"called": 'aggregate of topic "totals"', "place": "sub-topology 0 of level 0"}
}
SHAPE = {"tasks": 2, "sources": ["orders"], "levels": 1, "stores": STORES}
INTERNAL = ["shop-commits", "shop-epochs", "shop-totals-store-changelog"]
JVM_S = 240
DUMP = ("state", "dump", "shop.py", "totals-store", "--data", "data")
PROGRAM = """
from duolog import Topology, sum_

topology = Topology("shop")
orders = topology.stream("orders", key="customer STRING", value="amount BIGINT")
orders.group_by_key().materialized("totals-store").aggregate(total=sum_("amount")).to("totals")
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "broker") as started:
        yield started


def topics(servers: str, of: Collection[str]) -> list[str]:
    """Return the existing ones of these topics; other queries may create topics here."""
    listed = Duolog(servers)("topics", "list", "-o", "json").stdout
    return sorted(row["topic"] for row in json.loads(listed) if row["topic"] in of)


def test_reset_deletes_only_the_state_of_its_application(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    client, duolog = Client(servers), Duolog(servers)
    others = ["orders", "totals", "shop-2-totals-store-changelog", "shop-2-commits"]
    for name in [*INTERNAL, *others]:
        client.create_topic(name, partitions=2)
    for number in range(3):
        client.produce("orders", "ann", f"{number}", timestamp_ms=1000 + number)
    checkpoint = Checkpoint(tmp_path / "data/checkpoints/shop")
    checkpoint.pin("shop", StartFacts(SHAPE, {"duolog": "1"}, {"orders": "id"}, changelog=True))
    reset = ("state", "reset", "shop", "--data", str(tmp_path / "data"), "-o", "json")

    tried = duolog(*reset, "--to-latest", "--dry-run")
    there_after_trying = topics(servers, [*INTERNAL, *others]), checkpoint.directory.exists()
    asked = duolog(*reset)
    done = duolog(*reset, "--to-time", "1001", "--yes")

    assert tried.returncode == 0, tried.stderr
    assert [row["name"] for row in json.loads(tried.stdout) if row["kind"] == "internal topic"] == [
        "shop-totals-store-changelog",
        "shop-commits",
        "shop-epochs",
    ]
    assert there_after_trying == (sorted([*INTERNAL, *others]), True)
    assert (
        asked.returncode,
        "Cannot ask for confirmation without a terminal. Add --yes." in asked.stderr,
    ) == (2, True)
    shown = [row["name"] for row in json.loads(asked.stdout)]
    assert set(INTERNAL) < set(shown), "who is asked sees what would go"
    assert done.returncode == 0, done.stderr
    assert topics(servers, [*INTERNAL, *others]) == sorted(others)
    assert checkpoint.file.content() is None
    started = {at: offset for at, offset in checkpoint.given_starts()["orders"].items() if offset}
    assert list(started.values()) == [1], "the first record from then on"
    assert duolog(*reset, "--yes").returncode == 0, "what is not there is no error"


def test_reset_works_from_topics_without_a_checkpoint(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    """Regression: the reset that the error suggested was refused, too, for a changed program."""
    servers = broker.bootstrap_servers
    client, duolog = Client(servers), Duolog(servers)
    data = tmp_path / "data"
    renamed = "shop-totals-store-changelog-2"
    others = ["orders", "shop-2-commits", "shop-2-totals-store-changelog", "people-commits"]
    for name in [*INTERNAL, renamed, *others, "once-epochs", "people-epochs"]:
        client.create_topic(name, partitions=1)
    client.produce("people-commits", "ann", "to marry")
    client.produce("people-epochs", "ann", "bronze age")
    client.produce("once-epochs", "owner", "{}")
    client.produce("once-epochs", "epoch", '{"query": "q", "epoch": 3}')
    for number in range(3):
        client.produce("orders", "ann", f"{number}")
    keep_in_kafka(servers, data, "shop-2")
    keep_in_kafka(servers, data, "shop", upgraded=renamed)
    shutil.rmtree(data / "checkpoints/shop")
    reset = ("state", "reset", "shop", "--data", str(data), "-o", "json")
    everything = [*INTERNAL, renamed, *others, "once-epochs", "people-epochs"]

    tried = duolog(*reset, "--dry-run")
    there_after_trying = topics(servers, everything)
    done = duolog(*reset, "--to-latest", "--yes")
    once = duolog("state", "reset", "once", "--data", str(tmp_path / "none"), "--yes")
    of_people = duolog("state", "reset", "people", "--data", str(data), "--yes")

    assert tried.returncode == 0, tried.stderr
    assert f'application "shop" has no checkpoint in {data}' in tried.stderr
    rows = json.loads(tried.stdout)
    assert sorted(row["name"] for row in rows if row["kind"] == "internal topic") == sorted(
        [*INTERNAL, renamed]
    )
    assert [row["name"] for row in rows if row["kind"] != "internal topic"] == ["orders"]
    assert there_after_trying == sorted(everything)
    assert done.returncode == 0, done.stderr
    assert Checkpoint(data / "checkpoints/shop").given_starts() == {"orders": {0: 3}}
    assert once.returncode == 0, once.stderr
    assert topics(servers, everything) == sorted([*others, "people-epochs"])
    assert of_people.returncode == 3, "topics of people are not an application's by their names"
    assert f'"people" has no checkpoint in {data} and no internal topics' in of_people.stderr


def test_reset_finds_the_changelogs_of_a_damaged_checkpoint(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    for name in INTERNAL:
        Client(servers).create_topic(name, partitions=1)
    keep_in_kafka(servers, tmp_path, "shop")
    (tmp_path / "checkpoints/shop/application.json").write_text("{")

    done = Duolog(servers)("state", "reset", "shop", "--data", str(tmp_path), "--yes")

    assert done.returncode == 0, done.stderr
    assert topics(servers, INTERNAL) == []
    assert not (tmp_path / "checkpoints/shop").exists()


def keep_in_kafka(servers: str, data: Path, name: str, upgraded: str = "") -> None:
    """Create a checkpoint of an application, and record it in its commit topic as a start does."""
    checkpoint = Checkpoint(data / "checkpoints" / name)
    checkpoint.pin(name, StartFacts(SHAPE, {"duolog": "1"}, {"orders": "id"}, changelog=True))
    LoggedCheckpoint(checkpoint).name_topics(["totals-store"])
    commits = CommitTopic(EngineConfig(servers, data), name)
    content = checkpoint.file.content()
    assert content is not None
    commits.write_application(content)
    if upgraded:
        log = content["changelog"] | {"topics": {"totals-store": upgraded}}
        commits.write_application(content | {"changelog": log, "state": "spark-2"})


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_state_is_dumped_and_restored_unless_the_application_runs(
    broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use a relative data directory; JVM commands have minutes, as several may start at once."""
    servers = broker.bootstrap_servers
    monkeypatch.chdir(tmp_path)
    Path("shop.py").write_text(PROGRAM)
    client, duolog = Client(servers), Duolog(servers)
    client.create_topic("orders", partitions=2)
    for customer, amount in (("ann", 1), ("bob", 2), ("ann", 3)):
        client.produce("orders", customer, json.dumps({"amount": amount}))
    with running(servers):
        deadline = time.monotonic() + 240
        while len(_totals(client)) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
        refused = [
            duolog("state", "reset", "shop", "--data", "data", "--yes"),
            duolog("state", "restore", "shop.py", "--data", "data", "--yes", timeout_s=JVM_S),
        ]
        while_it_runs = duolog.run(*DUMP, timeout_s=JVM_S)
    before = duolog.run(*DUMP, timeout_s=JVM_S)
    wrong = duolog.run("state", "dump", "shop.py", "total", "--data", "data", timeout_s=JVM_S)
    tried = duolog("state", "restore", "shop.py", "--data", "data", "--dry-run", timeout_s=JVM_S)
    asked = duolog("state", "restore", "shop.py", "--data", "data", timeout_s=JVM_S)
    shutil.rmtree("data/checkpoints")
    restored = duolog("state", "restore", "shop.py", "--data", "data", timeout_s=JVM_S)
    after = duolog.run(*DUMP, timeout_s=JVM_S)
    again = duolog("state", "restore", "shop.py", "--data", "data", "--yes", timeout_s=JVM_S)
    stores = duolog.run("state", "describe", "shop", "--data", "data", "-o", "json")
    read = duolog.run("state", "describe", "shop", "--data", "data", "--positions", "-o", "json")

    for one in refused:
        assert one.returncode == 6, one.stderr
        assert 'application "shop" runs in another process' in one.stderr
    rows = [json.loads(line) for line in before.stdout.splitlines()]
    assert [(row["key"], row["value"]) for row in rows] == [
        ("ann", {"total": 4}),
        ("bob", {"total": 2}),
    ]
    assert while_it_runs.stdout == before.stdout, while_it_runs.stderr
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert 'unknown store "total"' in wrong.stderr
    assert "totals-store" in wrong.stderr
    assert "last commit" in tried.stderr
    assert (
        asked.returncode,
        "Cannot ask for confirmation without a terminal. Add --yes." in asked.stderr,
    ) == (2, True)
    assert restored.returncode == 0, restored.stderr
    reported = 'application "shop" restored its stores: 2 entries, '
    assert reported in restored.stderr
    assert restored.stderr.rstrip().endswith(" s"), "and the rate, and how long it took"
    assert after.stdout == before.stdout
    assert again.returncode == 0, again.stderr
    assert Path("data/checkpoints/shop/spark.before-restore").is_dir()
    assert [(row["store"], row["changelog"]) for row in json.loads(stores.stdout)] == [
        ("totals-store", "shop-totals-store-changelog")
    ]
    assert json.loads(stores.stdout)[0]["place"].startswith("sub-topology ")
    assert sum(row["offset"] for row in json.loads(read.stdout)) == 3


@contextmanager
def running(servers: str) -> Iterator[None]:
    """Run the program `shop.py` in a separate process."""
    words = ["run", "shop.py", "-b", servers, "--data", "data", "--set", "state.changelog=on"]
    words += ["--mode", "micro-batch"]
    runs = subprocess.Popen(
        [sys.executable, "-m", "duolog", *words], stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield
    finally:
        runs.terminate()
        runs.wait(timeout=120)


def _totals(client: Client) -> dict[str | None, str | None]:
    try:
        return {row.key_text: row.value_text for row in client.read("totals")}
    except Exception:  # noqa: BLE001 - the awaited start creates it
        return {}
