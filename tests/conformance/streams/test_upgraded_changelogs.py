"""Restore stores after upgrades: the state equals that of an undisturbed run."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from conformance.streams.test_engine_restore import state_of
from conformance.streams.test_engine_upgrades import (
    TASKS,
    WAIT_S,
    Shop,
    expected,
    first,
    forget_commits,
    hourly,
    paid,
    paid_by_item,
    with_another_sum,
    with_more,
)
from duolog import Topology, count, sum_
from duolog.engine.errors import ChangelogMismatch, CheckpointMismatch, NotRepartitionable
from duolog.engine.repartition import repartition
from duolog.testing import EmbeddedCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MakeShop = Callable[..., Shop]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


@pytest.fixture
def make(cluster: EmbeddedCluster, spark: SparkSession, tmp_path: Path) -> Iterator[MakeShop]:
    assert spark is not None, "the engine finds the session of this run"
    made: list[Shop] = []

    def of(**config: Any) -> Shop:
        made.append(Shop(cluster.bootstrap_servers, tmp_path, changelog="on", **config))
        return made[-1]

    yield of
    for shop in made:
        shop.engine.close()


def entries(spark: SparkSession, shop: Shop) -> dict[str, list[Any]]:
    """Return all entries of all stores of the current Spark checkpoint."""
    fixed = json.loads((shop.directory / "application.json").read_text())
    return state_of(spark, shop.directory / fixed.get("state", "spark"))


def changelogs(shop: Shop) -> list[str]:
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    named = f"shop-{shop.prefix}-"
    return sorted(
        name.removeprefix(named)
        for name in admin.list_topics(timeout=60).topics
        if name.startswith(named) and "changelog" in name
    )


def lose_and_restore(spark: SparkSession, shop: Shop, build: Callable[[Shop], Topology]) -> None:
    """Remove the checkpoint, and check that the next start restores every store entry."""
    before = entries(spark, shop)
    assert all(before.values()), "each store has something"
    restored: list[Any] = []
    shop.engine.on_restore = restored.append
    shutil.rmtree(shop.directory)

    shop.run(build, "micro-batch")

    assert restored[-1].done
    assert entries(spark, shop) == before


def test_restore_returns_stores_kept_and_rebuilt_by_upgrades(
    spark: SparkSession, make: MakeShop
) -> None:
    shop = make()
    shop.order(range(20, 40))
    shop.run(first, "micro-batch")
    old = changelogs(shop)
    shop.order(range(40, 45))
    shop.run(with_more, "micro-batch", "keep")
    kept = changelogs(shop)
    shop.order(range(45, 50))
    shop.run(with_another_sum, "micro-batch", "rebuild")
    shop.order(range(50, 55))
    shop.run(with_another_sum, "micro-batch")

    assert set(old) <= set(kept), "a kept store keeps its changelog under any name"
    lose_and_restore(spark, shop, with_another_sum)
    shop.order(range(55, 60))
    shop.run(with_another_sum, "micro-batch")
    assert shop.table("totals") == paid(range(20, 60))
    assert shop.table("by_item") == expected(range(20, 60))[1]
    assert shop.table("paid") == paid_by_item(range(20, 60))
    assert len(changelogs(shop)) == 3, "unused ones are deleted"


@pytest.mark.deep
@pytest.mark.parametrize("exactly_once", [False, True])
def test_restore_returns_stores_kept_by_an_upgrade(
    spark: SparkSession, make: MakeShop, *, exactly_once: bool
) -> None:
    shop = make(exactly_once=exactly_once)
    shop.order(range(20, 40))
    shop.produce("returns", ("c1", 5, {"item": "i1"}))
    shop.produce("customers", ("c1", 5, {"name": "Ann"}))
    shop.run(first, "micro-batch")
    shop.run(with_more, "micro-batch", "keep")

    lose_and_restore(spark, shop, with_more)
    written = shop.rows("totals"), shop.rows("by_item")
    shop.run(with_more, "micro-batch")
    assert (shop.rows("totals"), shop.rows("by_item")) == written, "and no result is emitted twice"
    shop.order(range(40, 60))
    shop.run(with_more, "micro-batch")
    assert (shop.table("totals"), shop.table("by_item")) == expected(range(20, 60))
    assert shop.table("hourly") == hourly(range(20, 60))


@pytest.mark.deep
@pytest.mark.parametrize("exactly_once", [False, True])
def test_restore_returns_stores_rebuilt_or_emptied_by_an_upgrade(
    spark: SparkSession, make: MakeShop, *, exactly_once: bool
) -> None:
    """The changed store keeps its name: no old entry may be read with the new layout."""
    shop = make(exactly_once=exactly_once)
    shop.order(range(20, 35))
    shop.run(first, "micro-batch")
    shop.order(range(35, 38))
    shop.run(with_another_sum, "micro-batch", "rebuild")
    lose_and_restore(spark, shop, with_another_sum)
    shop.order(range(38, 45))
    shop.run(with_another_sum, "micro-batch")
    assert shop.table("totals") == paid(range(20, 45))

    shop.order(range(45, 50))
    shop.run(first, "micro-batch", "from-now")
    lose_and_restore(spark, shop, first)
    shop.order(range(50, 55))
    shop.run(first, "micro-batch")
    now = {key: expected(range(45, 55))[0][key] for key in shop.table("totals")}
    assert shop.table("totals") == now, "it has begun empty, and is no more than that"
    assert shop.table("by_item") == expected(range(20, 55))[1]


@pytest.mark.deep
def test_restore_returns_old_state_if_the_upgrade_never_committed(
    spark: SparkSession, make: MakeShop
) -> None:
    shop = make()
    shop.order(range(20, 40))
    shop.run(first, "micro-batch")
    before = state_of(spark, shop.directory / "spark")
    shop.order(range(40, 50))
    shop.run(with_another_sum, "micro-batch", "rebuild")

    # As after a crash of the first start of the new topology: entries are written, and no
    # commit is recorded.
    forget_commits(shop.directory / "spark-2")
    shop.run(first, "micro-batch")
    assert entries(spark, shop).keys() == before.keys()
    assert (shop.table("totals"), shop.table("by_item")) == expected(range(20, 50))
    lose_and_restore(spark, shop, first)
    shop.order(range(50, 55))
    shop.run(first, "micro-batch")
    assert (shop.table("totals"), shop.table("by_item")) == expected(range(20, 55))

    shop.order(range(55, 56))
    shop.run(with_another_sum, "micro-batch", "rebuild")
    lose_and_restore(spark, shop, with_another_sum)
    assert len(changelogs(shop)) == 3


@pytest.mark.deep
def test_changelogs_of_another_topology_are_refused_unchanged(
    spark: SparkSession, make: MakeShop
) -> None:
    shop = make()
    shop.order(range(20, 40))
    shop.run(first, "micro-batch")
    before = state_of(spark, shop.directory / "spark")
    shutil.rmtree(shop.directory / "spark")
    content = (shop.directory / "application.json").read_text()

    with pytest.raises(CheckpointMismatch, match="belong to another topology") as refused:
        shop.run(with_another_sum, "micro-batch", "rebuild")

    assert "Start it once as it was" in refused.value.hint
    assert (shop.directory / "application.json").read_text() == content
    shop.run(first, "micro-batch")
    assert state_of(spark, shop.directory / "spark") == before


def plain(shop: Shop) -> Topology:
    topology = Topology("shop")
    orders = topology.stream(
        shop.topic("orders"), key="customer STRING", value="item STRING, price BIGINT, paid BIGINT"
    )
    orders.group_by_key().aggregate(n=count(), total=sum_("price")).to(shop.topic("totals"))
    orders.group_by("item").count("n").to(shop.topic("by_item"))
    return topology


@pytest.mark.deep
def test_state_of_another_task_count_is_restored(spark: SparkSession, make: MakeShop) -> None:
    shop = make()
    shop.order(range(20, 40))
    shop.run(plain, "micro-batch")
    repartition(shop.engine, plain(shop).build(), f"shop-{shop.prefix}", 3)
    shop.order(range(40, 45))
    shop.run(plain, "micro-batch")

    lose_and_restore(spark, shop, plain)
    shop.order(range(45, 50))
    shop.run(plain, "micro-batch")
    assert (shop.table("totals"), shop.table("by_item")) == expected(range(20, 50))


def named(shop: Shop) -> Topology:
    """A topology whose state cannot be repartitioned: every task has the global table."""
    topology = Topology("shop")
    items = topology.global_table(shop.topic("customers"), key="id STRING", value="name STRING")
    orders = topology.stream(
        shop.topic("orders"), key="customer STRING", value="item STRING, price BIGINT, paid BIGINT"
    )
    known = orders.join(items, on="item")
    known.group_by("name").count("n").to(shop.topic("by_item"))
    return topology


@pytest.mark.deep
def test_lost_changelog_starts_empty_for_state_that_cannot_be_repartitioned(
    spark: SparkSession, make: MakeShop
) -> None:
    """Regression: the command in the hint was refused, too, so only a fresh start helped."""
    shop = make()
    shop.produce("customers", *((f"i{n}", 5, {"name": f"item {n}"}) for n in range(3)))
    shop.order(range(20, 40))
    shop.run(named, "micro-batch")
    lost = [f"shop-{shop.prefix}-{name}" for name in changelogs(shop) if "aggregate" in name]
    assert len(lost) == 1
    admin = AdminClient({"bootstrap.servers": shop.bootstrap_servers})
    for deleted in admin.delete_topics(lost).values():
        deleted.result(WAIT_S)

    with pytest.raises(ChangelogMismatch, match="is missing") as refused:
        shop.run(named, "micro-batch")
    assert "`duolog repartition FILE --tasks N` with the current number of " in refused.value.hint
    plan, name = named(shop).build(), f"shop-{shop.prefix}"
    with pytest.raises(NotRepartitionable):
        repartition(shop.engine, plan, name, TASKS + 1)
    done = repartition(shop.engine, plan, name, TASKS)
    shop.order(range(40, 45))
    shop.run(named, "micro-batch")

    assert (done.tasks_before, done.tasks, len(done.stores)) == (TASKS, TASKS, 2)
    counts = {f"item {n}": {"n": sum(of % 3 == n for of in range(20, 45))} for n in range(3)}
    assert shop.table("by_item") == counts
    lose_and_restore(spark, shop, named)
    shop.produce("customers", ("i0", 9, {"name": "item 1"}))
    shop.run(named, "micro-batch")
    shop.order(range(45, 48))
    shop.run(named, "micro-batch")
    assert shop.table("by_item")["item 1"] == {"n": counts["item 1"]["n"] + 2}
