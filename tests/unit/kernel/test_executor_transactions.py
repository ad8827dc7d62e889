"""An epoch with transactions of several executors is decided once, and the next start completes it."""

import contextlib
import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

import waiting
from conformance.kafka.peer import KafkaPeer
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.exactly_once.epochs import last_committed
from duolog.engine.exactly_once.transactions import Transactions
from duolog.testing import Client, EmbeddedCluster
from fault.points import VARIABLE, Armed
from unit.kernel.kernel_process import KernelFailed, KernelProcess

pytestmark = pytest.mark.timeout(180)

QUERY: Final = "6f1c"


class App:
    """A checkpoint, and a broker that it writes to: starts of the same application, one JVM each."""

    def __init__(self, servers: str, directory: Path) -> None:
        self.servers = servers
        self.client = Client(servers)
        self.name = f"orders-{uuid.uuid4().hex[:6]}"
        self.topic = f"{self.name}-out"
        self.client.create_topic(self.topic, partitions=2)
        self.checkpoint = Checkpoint(directory / self.name)
        self.spark_dir = self.checkpoint.spark_dir
        (self.spark_dir / "offsets").mkdir(parents=True)
        (self.spark_dir / "metadata").write_text(json.dumps({"id": QUERY}))
        for number in range(6):
            (self.spark_dir / "offsets" / str(number)).write_text("v1\n{}\n{}")

    @contextlib.contextmanager
    def started(self, point: str = "") -> Iterator[KernelProcess]:
        settings = {"bootstrap.servers": self.servers, "transaction.timeout.ms": "60000"}
        with KernelProcess(settings, point) as kernel:
            self.transactions(kernel).open("here", clustered=True)
            yield kernel

    def transactions(self, kernel: KernelProcess) -> Transactions:
        return Transactions(kernel, kernel.settings, self.checkpoint, self.name)

    def write(self, kernel: KernelProcess, executor: str, epoch: int, key: str) -> str:
        """Write a record as a task of an executor does; return the transactional id."""
        return kernel.executor_writes(self.spark_dir, executor, epoch, self.topic, key)

    def crash(self, tmp_path: Path, point: str, turn: int = 1) -> list[str]:
        """Write epoch 1 by two executors, and end the JVM at a point of its commit; return the transactional ids."""
        armed = f"{point}:{turn}:kill:{tmp_path / 'reached'}"
        with self.started(armed) as kernel:
            ids = [self.write(kernel, name, 1, f"1-{name}") for name in "ab"]
            with pytest.raises(KernelFailed, match="has ended"):
                kernel.commits(self.spark_dir, 1)
            assert kernel.has_ended
        return ids

    def seen(self) -> list[str]:
        """Return the keys that a reader of committed records finds.

        Apache Kafka commits them after it has answered: wait for those that are expected.
        """
        return sorted((record.key or b"").decode() for record in self.client.read(self.topic))

    @property
    def left(self) -> list[Path]:
        return list((self.checkpoint.directory / "transactions").glob("*/*"))


@pytest.fixture(scope="module", params=["embedded", pytest.param("kafka", marks=pytest.mark.deep)])
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A broker for all of them: each has an application of its own."""
    if request.param == "embedded":
        with EmbeddedCluster(settings={"durability": "os"}) as cluster:
            yield cluster.bootstrap_servers
    else:
        with KafkaPeer(tmp_path_factory.mktemp("kafka")) as peer:
            yield peer.bootstrap_servers


@pytest.fixture
def app(servers: str, tmp_path: Path) -> App:
    """One whose first epoch is done."""
    found = App(servers, tmp_path)
    with found.started() as kernel:
        for name in "ab":
            found.write(kernel, name, 0, f"0-{name}")
        kernel.commits(found.spark_dir, 0)
        kernel.close(str(found.spark_dir))
    return found


def test_executors_continue_after_the_drivers_commit_and_write_each_result_once(
    app: App,
) -> None:
    with app.started() as kernel:
        for epoch, names in ((1, "ab"), (2, "b"), (3, "abc")):
            for name in names:
                app.write(kernel, name, epoch, f"{epoch}-{name}")
            kernel.commits(app.spark_dir, epoch)
        kernel.close(str(app.spark_dir))

    waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-a", "1-b", "2-b", "3-a", "3-b", "3-c"])
    assert app.left == []


@pytest.mark.parametrize(
    ("point", "turn"),
    [
        pytest.param("transaction.decided", 1, marks=pytest.mark.deep),
        ("transaction.end", 2),
        pytest.param("transaction.committed", 1, marks=pytest.mark.deep),
    ],
)
def test_an_epoch_that_was_decided_is_brought_to_its_end_by_the_next_start(
    app: App, tmp_path: Path, point: str, turn: int
) -> None:
    app.crash(tmp_path, point, turn)
    assert last_committed(app.checkpoint) == 0

    with app.started() as kernel:
        assert last_committed(app.checkpoint) == 1
        app.write(kernel, "a", 2, "2-a")
        kernel.commits(app.spark_dir, 2)

        assert app.transactions(kernel).marker().epoch == 2
    waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-a", "1-b", "2-a"])
    assert (app.spark_dir / "commits" / "1").read_text() == 'v2\n{"of":1}'


@pytest.mark.deep
@pytest.mark.parametrize("point", ["transaction.marker", "transaction.commit"])
def test_an_undecided_epoch_is_aborted_without_waiting(
    app: App, tmp_path: Path, point: str
) -> None:
    app.crash(tmp_path, point)

    with app.started() as kernel:
        assert last_committed(app.checkpoint) == 0
        app.write(kernel, "a", 1, "1-a")
        kernel.commits(app.spark_dir, 1)
        # An earlier open transaction would hide the records after it.
        waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-a"])


@pytest.mark.deep
def test_a_decided_epoch_of_which_the_broker_has_ended_all_is_computed_again(
    app: App, tmp_path: Path
) -> None:
    ids = app.crash(tmp_path, "transaction.decided")
    with KernelProcess({"bootstrap.servers": app.servers}) as broker:
        broker.fence(ids[0])

    with app.started() as kernel:
        assert last_committed(app.checkpoint) == 0
        assert app.transactions(kernel).marker().epoch == 0
        app.write(kernel, "a", 1, "1-again")
        kernel.commits(app.spark_dir, 1)
    waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-again"])


@pytest.mark.deep
def test_a_decided_epoch_of_which_a_part_is_lost_is_refused_by_name(
    app: App, tmp_path: Path
) -> None:
    ids = app.crash(tmp_path, "transaction.committed")
    with KernelProcess({"bootstrap.servers": app.servers}) as broker:
        broker.fence(ids[1])

    with (
        pytest.raises(CheckpointMismatch, match="results of epoch 1 were lost") as refused,
        app.started(),
    ):
        pass

    assert f"{ids[0]} committed" in refused.value.detail
    assert f"{ids[1]} ended" in refused.value.detail
    assert last_committed(app.checkpoint) == 0


@pytest.mark.deep
def test_a_part_that_the_broker_has_ended_breaks_the_epoch_off_before_it_is_decided(
    app: App,
) -> None:
    with app.started() as kernel:
        app.write(kernel, "a", 1, "1-a")
        ended = app.write(kernel, "b", 1, "1-b")
        kernel.fence(ended)

        with pytest.raises(KernelFailed, match=rf"EpochBrokenException: .*{ended}"):
            kernel.commits(app.spark_dir, 1)

        assert app.transactions(kernel).marker().epoch == 0
        kernel.close(str(app.spark_dir))
    waiting.wait_for_equal(app.seen, ["0-a", "0-b"])


@pytest.mark.deep
def test_an_executor_commits_only_epochs_its_driver_committed(app: App) -> None:
    """Were it left out of the epoch, the next begin would make it seen."""
    with app.started() as kernel:
        app.write(kernel, "a", 1, "1-a")
        with pytest.raises(KernelFailed, match="was not committed by the driver"):
            app.write(kernel, "a", 2, "2-a")
    waiting.wait_for_equal(app.seen, ["0-a", "0-b"])


def test_an_executor_of_a_driver_that_was_replaced_writes_nothing_more(app: App) -> None:
    with app.started() as old:
        app.write(old, "a", 1, "1-a")
        with app.started() as new:
            # One that has started, unless a sweep has closed it meanwhile; and one that only now
            # would.
            with pytest.raises(
                KernelFailed,
                match=r"newer producer|ProducerFenced|InvalidProducerEpoch|ExecutionException"
                r"|its driver has started again",
            ):
                app.write(old, "a", 1, "1-late")
            with pytest.raises(
                KernelFailed, match="EpochBrokenException: its driver has started again"
            ):
                app.write(old, "b", 1, "1-b")
            with pytest.raises(KernelFailed):
                old.commits(app.spark_dir, 1)
            app.write(new, "a", 1, "1-new")
            new.commits(app.spark_dir, 1)
            waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-new"])


@pytest.mark.deep
def test_an_executor_that_names_itself_while_its_driver_is_replaced_writes_nothing(
    app: App, tmp_path: Path
) -> None:
    """The executor has stored its name and is fenced before it starts to write: no later start would fence it again."""
    armed = Armed("executor.named", 1, "hold", tmp_path / "reached")
    point = armed.environment[VARIABLE]
    with app.started(point) as old, ThreadPoolExecutor(1) as pool:
        late = pool.submit(app.write, old, "a", 1, "1-late")
        waiting.wait_until(lambda: armed.is_reached, "no executor arrived", 30)
        with app.started() as new:
            armed.go()
            with pytest.raises(
                KernelFailed, match="EpochBrokenException: its driver has started again"
            ):
                late.result(30)
            app.write(new, "a", 1, "1-new")
            new.commits(app.spark_dir, 1)
            waiting.wait_for_equal(app.seen, ["0-a", "0-b", "1-new"])
