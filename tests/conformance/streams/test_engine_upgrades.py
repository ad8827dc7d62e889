"""Upgrade to another topology on existing state, on real streaming queries."""

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from duolog import Topology, col, count, sum_, tumbling
from duolog.engine import Engine, EngineConfig
from duolog.engine.errors import CheckpointMismatch, QueryFailed
from duolog.engine.query.query import RunningQuery
from duolog.engine.settings import Mode
from duolog.engine.start_options import StartOptions
from duolog.engine.upgrades.rebuild import Rebuild
from duolog.engine.upgrades.upgrade_plan import How
from duolog.testing import EmbeddedCluster
from waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

TASKS = 2
WAIT_S = 90


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


class Shop:
    """Orders of customers in two partitions, processed by several topologies."""

    def __init__(self, bootstrap_servers: str, directory: Path, **config: Any) -> None:
        self.prefix = uuid.uuid4().hex[:8]
        self.bootstrap_servers = bootstrap_servers
        self.engine = Engine(EngineConfig(bootstrap_servers, directory, epoch_ms=3000, **config))
        self.directory = directory / f"shop-{self.prefix}"
        admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        names = (
            "orders",
            "customers",
            "returns",
            "totals",
            "by_item",
            "hourly",
            "returned",
            "paid",
        )
        config = {"retention.ms": "-1"}
        topics = [NewTopic(self.topic(name), TASKS, 1, config=config) for name in names]
        for created in admin.create_topics(topics).values():
            created.result(30)

    def topic(self, name: str) -> str:
        return f"{name}-{self.prefix}"

    def produce(self, name: str, *records: tuple[str, int, Any]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for key, timestamp_ms, value in records:
            data = json.dumps(value).encode()
            producer.produce(self.topic(name), data, key, timestamp=timestamp_ms)
        assert producer.flush(30) == 0

    def order(self, numbers: range) -> None:
        self.produce(
            "orders",
            *(
                (f"c{n % 5}", 1000 + 1000 * n, {"item": f"i{n % 3}", "price": n, "paid": n + 1})
                for n in numbers
            ),
        )

    @contextmanager
    def running(
        self, build: Callable[["Shop"], Topology], mode: Mode, upgrade: How | None = None
    ) -> Iterator[RunningQuery]:
        plan = build(self).build()
        query = self.engine.start(plan, f"shop-{self.prefix}", mode, StartOptions(upgrade=upgrade))
        try:
            yield query
        finally:
            query.stop()
        assert query.exception() is None

    def run(
        self, build: Callable[["Shop"], Topology], mode: Mode, upgrade: How | None = None
    ) -> None:
        with self.running(build, mode, upgrade) as query:
            assert query.wait_until_caught_up(WAIT_S)

    def rows(self, name: str) -> list[tuple[str, Any]]:
        """Return (key, value) of all records, a partition after the other."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": self.prefix,
                "enable.partition.eof": True,
            }
        )
        found, ends = [], 0
        consumer.assign([TopicPartition(self.topic(name), number, 0) for number in range(TASKS)])
        while ends < TASKS and (message := consumer.poll(30)) is not None:
            error, key, value = message.error(), message.key(), message.value()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - its only name
                ends += 1
            else:
                assert key is not None
                found.append(
                    (key.hex() if b"\0" in key else key.decode(), json.loads(value or b"null"))
                )
        consumer.close()
        return found

    def table(self, name: str) -> dict[str, Any]:
        return {key: value for key, value in self.rows(name) if value is not None}


@pytest.fixture
def shop(cluster: EmbeddedCluster, spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    assert spark is not None, "the engine finds the session of this run"
    made = Shop(cluster.bootstrap_servers, tmp_path)
    yield made
    made.engine.close()


def first(shop: Shop) -> Topology:
    """No step is named: store names are generated from positions."""
    topology = Topology("shop")
    orders = topology.stream(
        shop.topic("orders"), key="customer STRING", value="item STRING, price BIGINT, paid BIGINT"
    )
    orders.group_by_key().aggregate(n=count(), total=sum_("price")).to(shop.topic("totals"))
    orders.group_by("item").count("n").to(shop.topic("by_item"))
    hours = orders.group_by_key().windowed_by(tumbling("4 s", grace="1 s"))
    hours.count("n").to(shop.topic("hourly"))
    return topology


def with_more(shop: Shop) -> Topology:
    """Another source, a table join, a filter, one more level: all stores get new numbers."""
    topology = Topology("shop")
    customers = topology.table(shop.topic("customers"), key="customer STRING", value="name STRING")
    returns = topology.stream(shop.topic("returns"), key="customer STRING", value="item STRING")
    returns.group_by("item").count("n").to(shop.topic("returned"))
    orders = topology.stream(
        shop.topic("orders"), key="customer STRING", value="item STRING, price BIGINT, paid BIGINT"
    ).filter(col("price") != 7)
    orders = orders.left_join(customers)
    orders.group_by_key().aggregate(n=count(), total=sum_("price")).to(shop.topic("totals"))
    counts = orders.group_by("item").count("n")
    counts.to(shop.topic("by_item"))
    hours = orders.group_by_key().windowed_by(tumbling("4 s", grace="1 s"))
    hours.count("n").to(shop.topic("hourly"))
    return topology


def expected(numbers: range) -> tuple[dict[str, Any], dict[str, Any]]:
    totals = {
        f"c{c}": {
            "n": len([n for n in numbers if n % 5 == c]),
            "total": sum(n for n in numbers if n % 5 == c),
        }
        for c in range(5)
    }
    items = {f"i{i}": {"n": len([n for n in numbers if n % 3 == i])} for i in range(3)}
    return totals, items


@pytest.mark.parametrize("mode", ["micro-batch", pytest.param("auto", marks=pytest.mark.deep)])
def test_upgrade_keeps_renumbered_and_relocated_stores(shop: Shop, mode: Mode) -> None:
    shop.order(range(20, 40))
    shop.produce("returns", ("c1", 5, {"item": "i1"}))
    shop.run(first, mode)
    with pytest.raises(CheckpointMismatch, match="has changed"):
        shop.engine.start(with_more(shop).build(), f"shop-{shop.prefix}", mode)

    shop.run(with_more, mode, "keep")  # There are no new records in the old topics.
    shop.order(range(40, 60))
    shop.run(with_more, mode)

    totals, items = expected(range(20, 60))
    assert shop.table("totals") == totals
    assert shop.table("by_item") == items
    assert shop.table("returned") == {"i1": {"n": 1}}
    assert shop.table("hourly") == hourly(range(20, 60))
    assert [path.name for path in shop.directory.glob("spark*")] == ["spark-2"]


def test_upgrade_that_crashed_before_its_first_commit_is_retried_or_reverted(
    shop: Shop,
) -> None:
    """Remove the commit from the checkpoint, as after a crash: state is written, uncommitted."""
    shop.order(range(20, 40))
    shop.run(first, "micro-batch")
    shop.order(range(40, 50))
    shop.run(with_more, "micro-batch", "keep")
    totals, items = expected(range(20, 50))
    assert (shop.table("totals"), shop.table("by_item")) == (totals, items)

    forget_commits(shop.directory / "spark-2")
    shop.run(with_more, "micro-batch")
    assert (shop.table("totals"), shop.table("by_item")) == (totals, items)

    forget_commits(shop.directory / "spark-2")
    shop.order(range(50, 55))
    shop.run(first, "micro-batch")
    totals, items = expected(range(20, 55))
    assert (shop.table("totals"), shop.table("by_item")) == (totals, items)
    assert [path.name for path in shop.directory.glob("spark*")] == ["spark"]

    shop.run(with_more, "auto", "keep")
    shop.order(range(55, 60))
    shop.run(with_more, "micro-batch")
    totals, items = expected(range(20, 60))
    assert (shop.table("totals"), shop.table("by_item")) == (totals, items)


def forget_commits(spark_dir: Path) -> None:
    commits = [path for path in spark_dir.glob("commits/*") if path.name.strip(".")[0].isdigit()]
    assert commits
    for path in commits:
        path.unlink()


def with_another_sum(shop: Shop) -> Topology:
    """One of two aggregates changes, and another one is written to its own topic."""
    topology = Topology("shop")
    orders = topology.stream(
        shop.topic("orders"), key="customer STRING", value="item STRING, price BIGINT, paid BIGINT"
    )
    orders.group_by_key().aggregate(n=count(), total=sum_("paid")).to(shop.topic("totals"))
    orders.group_by("item").count("n").to(shop.topic("by_item"))
    orders.group_by("item").aggregate(paid=sum_("paid")).to(shop.topic("paid"))
    return topology


def paid(numbers: range) -> dict[str, Any]:
    """The sum that customers paid: the price plus one for each order."""
    totals = expected(numbers)[0]
    return {key: row | {"total": row["total"] + row["n"]} for key, row in totals.items()}


def paid_by_item(numbers: range) -> dict[str, Any]:
    return {f"i{i}": {"paid": sum(n + 1 for n in numbers if n % 3 == i)} for i in range(3)}


def test_incompatible_stores_start_empty_only_if_requested(
    shop: Shop,
) -> None:
    shop.order(range(20, 40))
    shop.run(first, "micro-batch")
    shop.order(range(40, 50))

    with pytest.raises(CheckpointMismatch, match="cannot keep store") as refused:
        shop.run(with_another_sum, "micro-batch", "keep")
    shop.run(with_another_sum, "micro-batch", "from-now")

    assert "total" in refused.value.detail
    assert shop.table("totals") == paid(range(40, 50))
    assert shop.table("paid") == paid_by_item(range(40, 50))
    assert shop.table("by_item") == expected(range(20, 50))[1]


def test_incompatible_stores_are_rebuilt_alongside_the_old_application(
    shop: Shop,
) -> None:
    """Existing results are not rewritten; the topic of the rebuilt store has all results."""
    shop.order(range(20, 40))
    with shop.running(first, "micro-batch") as old:
        assert old.wait_until_caught_up(WAIT_S)
        before = shop.rows("totals"), shop.rows("by_item")
        with shop.running(with_another_sum, "micro-batch", "rebuild") as query:
            assert old.has_ended
            assert query.wait_until_caught_up(WAIT_S)
            assert (shop.rows("totals"), shop.rows("by_item")) == before
            assert shop.table("paid") == paid_by_item(range(20, 40))
            shop.order(range(40, 45))
            assert query.wait_until_caught_up(WAIT_S)
    shop.order(range(45, 50))
    shop.run(with_another_sum, "micro-batch")

    assert shop.table("totals") == paid(range(20, 50))
    assert shop.table("by_item") == expected(range(20, 50))[1]
    assert shop.table("paid") == paid_by_item(range(20, 50))
    assert not (shop.directory / "rebuild").exists()

    # And back: the new one emits the results of records unread at its start.
    shop.order(range(50, 55))
    shop.run(first, "micro-batch", "rebuild")

    assert shop.table("totals") == expected(range(20, 55))[0]
    assert shop.table("by_item") == expected(range(20, 55))[1]
    of_last = [key for key, row in hourly(range(20, 55)).items() if key in hourly(range(50, 55))]
    assert {key: shop.table("hourly")[key] for key in of_last} == {
        key: hourly(range(20, 55))[key] for key in of_last
    }


def test_a_rebuild_that_is_abandoned_fails_its_start_and_continues_later(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.order(range(20))
    application_id = f"shop-{shop.prefix}"
    with shop.running(first, "micro-batch") as old:
        assert old.wait_until_caught_up(WAIT_S)
        with monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
            patched.setattr(Rebuild, "missing", lambda _self: 10**9)  # It never comes near.
            plan, options = with_another_sum(shop).build(), StartOptions(upgrade="rebuild")
            started = pool.submit(shop.engine.start, plan, application_id, "micro-batch", options)

            def abandoned() -> bool:
                shop.engine.abandon_rebuild(application_id)
                return started.done()

            wait_until(abandoned, "the start ends", WAIT_S)
            with pytest.raises(QueryFailed, match="was stopped"):
                started.result()
        assert not old.has_ended

    shop.run(with_another_sum, "micro-batch", "rebuild")

    assert shop.table("paid") == paid_by_item(range(20))


def hourly(numbers: range) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for n in numbers:
        start = (1000 + 1000 * n) // 4000 * 4000
        key = (f"c{n % 5}".encode() + start.to_bytes(8, "big")).hex()
        found[key] = {"n": found.get(key, {"n": 0})["n"] + 1}
    return found
