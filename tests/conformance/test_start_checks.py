"""Checks that refuse a start before the JVM starts, with a real broker and no JVM."""

import fcntl
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner, Result
from confluent_kafka.admin import AdminClient, ConfigResource

from duolog import Topology
from duolog.cli.applications.following import StartOptions
from duolog.cli.applications.fresh_start import FreshStart
from duolog.cli.commands.run import run
from duolog.engine import claims
from duolog.engine.checkpoint import owner
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import (
    CheckpointDamaged,
    CheckpointInUse,
    CheckpointMismatch,
    SourceTopicMissing,
    SourceTopicRecreated,
)
from duolog.engine.settings import EngineConfig
from duolog.engine.spark import engine_session
from duolog.engine.starting import Starter
from duolog.runtime.application import Application
from duolog.runtime.errors import BrokerUnavailable
from duolog.testing import Client, EmbeddedCluster
from unit.engine.lowering.shapes import shape_of_topology

HOLDS_LOCKS = """
import fcntl, sys
directory, *names = sys.argv[1:]
held = [open(f"{directory}/owner.{name}", "ab") for name in names]
for file, name in zip(held, names):
    (fcntl.lockf if name == "lock" else fcntl.flock)(file, fcntl.LOCK_EX)
print("locked", flush=True)
input()
"""
FILE = """
from duolog import Topology

topology = Topology("joined")
orders = topology.stream("orders", key="id STRING", value="customer STRING")
customers = topology.table("customers", key="name STRING", value="city STRING")
orders.join(customers, on="customer").to("joined")
"""


class JvmStarted(Exception):
    """Raised instead of starting a JVM."""


@pytest.fixture(autouse=True)
def topics_at_jvm_start(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The topics of the broker when the JVM would start; empty if it would not start."""
    seen: list[set[str]] = []

    def open_session(config: EngineConfig, **_: object) -> None:
        admin = AdminClient({"bootstrap.servers": config.bootstrap_servers, "log_level": 0})
        topics = admin.list_topics(timeout=60).topics
        seen.append({name for name in topics if not name.startswith("__")})
        asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in sorted(topics)]
        for resource, answer in admin.describe_configs(asked).items():
            if answer.result(60)["cleanup.policy"].value == "compact":
                seen[-1].add(f"{resource.name} is compacted")
        raise JvmStarted("a JVM")

    monkeypatch.setattr(engine_session, "open_session", open_session)
    return seen


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as started:
        Client(started.bootstrap_servers).create_topic("visits", partitions=2)
        yield started


@pytest.fixture
def own_cluster() -> Iterator[EmbeddedCluster]:
    """A broker that has only the topics of this test."""
    with EmbeddedCluster() as started:
        Client(started.bootstrap_servers).create_topic("visits", partitions=2)
        yield started


@pytest.fixture
def _signals() -> Iterator[None]:
    """Remove the handlers that a command in this process leaves."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def counted(topic: str = "visits", *, by: str = "page") -> Topology:
    topology = Topology("counted")
    visits = topology.stream(topic, key="page STRING", value="user STRING")
    visits.group_by(by).count().to("counts")
    return topology


def application(where: Path, servers: str, topology: Topology | None = None) -> Application:
    return Application(topology or counted(), bootstrap_servers=servers, data_dir=where)


def checkpoint_of(where: Path) -> Checkpoint:
    checkpoint = Checkpoint(where / "checkpoints" / "counted")
    checkpoint.directory.mkdir(parents=True, exist_ok=True)
    return checkpoint


def test_the_jvm_is_started_last_after_all_checks(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    checkpoint_of(tmp_path).pin("counted", StartFacts(shape_of_topology(counted()), {}, {}))

    with (
        application(tmp_path, cluster.bootstrap_servers) as starting,
        pytest.raises(JvmStarted),
    ):
        starting.start()

    assert topics_at_jvm_start == [{"visits", "counts", "counts is compacted"}]


def test_missing_topic_is_named_with_a_similar_one(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    with (
        application(tmp_path, cluster.bootstrap_servers, counted("vists")) as starting,
        pytest.raises(SourceTopicMissing, match='source topic "vists" does not exist') as caught,
    ):
        starting.start()

    assert caught.value.detail.startswith('Instead of "vists", is "visits" meant?')
    assert f"topics create vists -b {cluster.bootstrap_servers}" in caught.value.hint
    assert topics_at_jvm_start == []


def test_an_address_without_a_listener_is_reported_at_once(
    tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    """Regression: it took 37 seconds, for the JVM and a client's retries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    starting = application(tmp_path, address)
    began = time.monotonic()

    with pytest.raises(BrokerUnavailable, match=f"no broker answers at {address}") as caught:
        starting.start()

    assert time.monotonic() - began < 30
    assert "connection refused" in caught.value.detail
    assert topics_at_jvm_start == []


@contextmanager
def owner_with(directory: Path, *locks: str) -> Iterator[int]:
    """Another process that holds locks: `lock` as the JVM of an application, `process` as its Python."""
    words = [sys.executable, "-c", HOLDS_LOCKS, str(directory), *locks]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        held = owner.Owner(1, "x", owner._machine(), "north", other.pid)  # noqa: SLF001
        (directory / "owner.json").write_text(dumps(asdict(held)))
        yield other.pid
        other.communicate()


def test_a_second_process_of_the_application_is_refused(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    directory = checkpoint_of(tmp_path).directory

    with (
        owner_with(directory, "lock", "process") as pid,
        pytest.raises(CheckpointInUse, match='"counted" runs in another process') as caught,
    ):
        application(tmp_path, cluster.bootstrap_servers).start()

    assert f"process {pid} on host north" in caught.value.detail
    # Kafka Streams would share the work between processes.
    assert "one process at a time" in caught.value.detail
    assert "To scale one application, use partitions and the setting master" in caught.value.hint
    assert topics_at_jvm_start == []


def test_second_process_is_refused_while_the_first_starts_its_jvm(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    """Regression: it started a JVM and was refused 15 seconds later."""
    directory = checkpoint_of(tmp_path).directory

    with (
        owner_with(directory, "process"),
        pytest.raises(CheckpointInUse, match='"counted" runs in another process'),
    ):
        application(tmp_path, cluster.bootstrap_servers).start()

    assert topics_at_jvm_start == []


def test_failed_start_releases_the_application(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    starting = application(tmp_path, cluster.bootstrap_servers)
    with starting, pytest.raises(JvmStarted):
        starting.start()

    with owner_with(checkpoint_of(tmp_path).directory, "process"):
        pass


def test_closing_engine_leaves_the_application_to_the_next_one(
    cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when `duolog run --watch` reloads: the next engine starts before the last one closes."""
    monkeypatch.setattr(engine_session, "open_session", MagicMock())
    monkeypatch.setattr(claims, "claim", lambda *_, **__: None)
    monkeypatch.setattr(claims, "release", lambda directory, *_: owner.give_back(directory))
    monkeypatch.setattr(Starter, "make_ready", MagicMock(side_effect=JvmStarted))
    last, following = (application(tmp_path, cluster.bootstrap_servers) for _ in range(2))
    with pytest.raises(JvmStarted):
        last.start()

    following.reserve()
    last.close()

    with (checkpoint_of(tmp_path).directory / "owner.process").open("a") as process:
        with pytest.raises(BlockingIOError):
            fcntl.flock(process, fcntl.LOCK_EX | fcntl.LOCK_NB)
        following.close()
        fcntl.flock(process, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("locks", [["lock"], []])
def test_an_owner_that_is_stopping_or_gone_does_not_prevent_the_jvm_from_starting(
    cluster: EmbeddedCluster, tmp_path: Path, locks: list[str]
) -> None:
    """A JVM outlives its Python for a moment."""
    directory = checkpoint_of(tmp_path).directory

    with owner_with(directory, *locks), pytest.raises(JvmStarted):
        application(tmp_path, cluster.bootstrap_servers).start()


def test_a_checkpoint_that_is_damaged_or_of_another_topology_is_refused(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    checkpoint = checkpoint_of(tmp_path)
    starting = application(tmp_path, cluster.bootstrap_servers)

    checkpoint.pin("counted", StartFacts(shape_of_topology(counted(by="user")), {}, {}))
    with pytest.raises(CheckpointMismatch, match="has changed since its checkpoint"):
        starting.start()

    (checkpoint.directory / "application.json").write_text("{")
    with pytest.raises(CheckpointDamaged, match=r"application\.json"):
        starting.start()

    (checkpoint.directory / "application.json").unlink()
    checkpoint.pin("counted", StartFacts(shape_of_topology(counted()), {}, {"visits": "another"}))
    with pytest.raises(SourceTopicRecreated, match="was deleted and created again"):
        starting.start()
    assert topics_at_jvm_start == []


def test_a_fresh_start_deletes_state_internal_topics_and_results(
    own_cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    client = Client(own_cluster.bootstrap_servers)
    client.produce("visits", "home", "ann")
    client.create_topic("counts", partitions=2)
    client.produce("counts", "home", "1")
    checkpoint = checkpoint_of(tmp_path)
    checkpoint.pin("counted", StartFacts(shape_of_topology(counted(by="user")), {}, {}))
    fresh = FreshStart(tmp_path, own_cluster.bootstrap_servers)

    with (
        application(tmp_path, own_cluster.bootstrap_servers) as starting,
        pytest.raises(JvmStarted),
    ):
        StartOptions(create_topics=True, fresh=fresh).start(starting)

    assert topics_at_jvm_start == [{"visits"}], "the results are gone, and made after the JVM"
    assert client.read("visits"), "what is read stays"
    assert not (checkpoint.directory / "application.json").exists()


def test_fresh_start_keeps_compatible_state(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    checkpoint = checkpoint_of(tmp_path)
    checkpoint.pin("counted", StartFacts(shape_of_topology(counted()), {}, {}))
    before = (checkpoint.directory / "application.json").read_text()
    fresh = FreshStart(tmp_path, cluster.bootstrap_servers)

    with (
        application(tmp_path, cluster.bootstrap_servers) as starting,
        pytest.raises(JvmStarted),
    ):
        StartOptions(create_topics=True, fresh=fresh).start(starting)

    assert (checkpoint.directory / "application.json").read_text() == before


def duolog_run(where: Path, *words: str) -> Result:
    path = where / "join_queries.py"
    path.write_text(FILE)
    data = str(where / "data")
    return CliRunner().invoke(run, [str(path), "--data", data, *words])


@pytest.mark.usefixtures("_signals")
def test_run_with_its_own_broker_creates_topics(
    tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    """Regression: the first run always failed, because its new broker had no topics."""
    reported = duolog_run(tmp_path, "--listen", "127.0.0.1:0")

    assert isinstance(reported.exception, JvmStarted), reported.output
    assert 'created missing source topic "orders"' in reported.output
    # Table rows are kept; records of a stream expire by retention, as usual.
    assert topics_at_jvm_start == [{"orders", "customers", "customers is compacted"}]


@pytest.mark.usefixtures("_signals")
def test_a_run_on_another_cluster_creates_topics_only_on_request(
    tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    with EmbeddedCluster() as cluster:
        reported = duolog_run(tmp_path, "-b", cluster.bootstrap_servers)
        assert isinstance(reported.exception, SourceTopicMissing)
        assert '"customers", "orders" do not exist' in reported.exception.message
        assert "--create-topics" in reported.exception.hint
        assert topics_at_jvm_start == []

        reported = duolog_run(tmp_path, "-b", cluster.bootstrap_servers, "--create-topics")
        assert isinstance(reported.exception, JvmStarted), reported.output
        assert topics_at_jvm_start == [{"orders", "customers", "customers is compacted"}]


@pytest.mark.usefixtures("_signals")
def test_run_next_to_a_broker_explains_how_to_use_it(
    cluster: EmbeddedCluster, tmp_path: Path, topics_at_jvm_start: list[set[str]]
) -> None:
    reported = duolog_run(tmp_path, "--listen", cluster.bootstrap_servers)

    assert isinstance(reported.exception, BrokerUnavailable)
    assert "Address already in use" in reported.exception.detail
    assert reported.exception.hint.endswith(
        f"is already running, add -b {cluster.bootstrap_servers}."
    )
    assert topics_at_jvm_start == []
