"""Refusals before a start, in applications and in the test driver."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from duolog import Application, Topology, col, concat, count
from duolog.core.errors import ConfigError, DuologError, StatementError
from duolog.testing import TopologyDriver

NOWHERE = "127.0.0.1:1"


def counting(
    name: str = "counts", reads: str = "orders", writes: str = "counts-by-item"
) -> Topology:
    topology = Topology(name)
    orders = topology.stream(reads, key={"item": str}, value={"amount": float})
    orders.group_by_key().aggregate(n=count()).to(writes)
    return topology


def choosing(*topics: str) -> Topology:
    topology = Topology("choosing")
    orders = topology.stream("orders", value={"region": str})
    orders.to(concat(col("region"), "-orders"), topics=topics)
    return topology


def asking() -> Topology:
    topology = Topology("asking")
    topology.stream("orders", value={"region": str}).map_async(
        lambda region: region, timeout="5 minutes", returns=str
    ).to("out")
    return topology


def calling() -> Topology:
    topology = Topology("calling")
    topology.stream("orders", value={"region": str}).for_each(print)
    return topology


REFUSED: list[tuple[Callable[[], Topology], Mapping[str, Any], str]] = [
    (lambda: counting("my app"), {}, "cannot name an application"),
    (lambda: counting(".hidden"), {}, "cannot name an application"),
    (lambda: counting("../elsewhere"), {}, "cannot name an application"),
    (lambda: counting(""), {}, "cannot name an application"),
    (lambda: counting("x" * 201), {}, "cannot name an application"),
    (lambda: counting(reads="my orders"), {}, "a character other than letters"),
    (lambda: counting(writes="a/b"), {}, "a character other than letters"),
    (lambda: counting(writes=".."), {}, "cannot be"),
    (lambda: counting(writes="x" * 250), {}, "longer than 249"),
    (lambda: counting(writes=""), {}, "is empty"),
    (lambda: counting(reads="by.item", writes="by_item"), {}, "cannot exist in one cluster"),
    (lambda: choosing("eu-orders", "us orders"), {}, "a character other than letters"),
    (counting, {"mode": "batch"}, 'unknown mode "batch"'),
    (counting, {"settings": {"epoch": "1"}}, 'unknown engine setting "epoch"'),
    (counting, {"settings": {"tasks": "many"}}, "tasks"),
    (counting, {"settings": {"processing.exception.handler": "ignore"}}, "must be one of"),
    (
        counting,
        {"settings": {"errors.dead.letter.queue.topic.name": "dead letters"}},
        "a character other than letters",
    ),
    (
        asking,
        {"settings": {"processing.guarantee": "exactly_once_v2"}},
        "and a transaction of results",
    ),
    (calling, {"settings": {"master": "spark://127.0.0.1:7077"}}, "calls a function"),
]


@pytest.mark.parametrize(("define", "given", "expected_message"), REFUSED)
def test_the_driver_refuses_what_a_start_refuses_with_the_same_text(
    tmp_path: Path, define: Callable[[], Topology], given: Mapping[str, Any], expected_message: str
) -> None:
    with pytest.raises(DuologError) as by_driver:
        TopologyDriver(define(), **given)
    with pytest.raises(DuologError) as by_application:
        Application(define(), bootstrap_servers=NOWHERE, data_dir=tmp_path / "d", **given).start()

    assert expected_message in by_driver.value.message
    assert by_driver.value.render() == by_application.value.render()
    assert not (tmp_path / "d").exists()


def test_a_name_of_a_topic_is_refused_with_the_line_that_has_it() -> None:
    with pytest.raises(StatementError) as caught:
        TopologyDriver(counting(writes="a b"))

    assert "test_admission.py:" in caught.value.place


@pytest.mark.parametrize(
    ("mode", "upgrade"), [("micro batch", None), ("auto", "from now"), ("auto", "yes")]
)
def test_an_application_refuses_unknown_arguments_when_it_is_created(
    tmp_path: Path, mode: Any, upgrade: Any
) -> None:
    with pytest.raises(ConfigError, match="unknown"):
        Application(
            counting(), bootstrap_servers=NOWHERE, data_dir=tmp_path, mode=mode, upgrade=upgrade
        )


def test_valid_settings_are_accepted_and_record_settings_apply() -> None:
    topology = Topology("failing")
    numbers = topology.stream("numbers", key={"id": str}, value={"n": int})

    def half(n: int) -> int:
        assert n % 2 == 0, "an odd number"
        return n // 2

    numbers.map_values(n=half).to("halves")
    settings = {"processing.exception.handler": "log_and_continue", "epoch.ms": "100"}

    with TopologyDriver(topology, mode="real-time", settings=settings) as driver:
        driver.input_topic("numbers").pipe_inputs([("a", {"n": 3}), ("b", {"n": 4})])

        assert driver.output_topic("halves").read_key_values() == [("b", {"n": 2})]
        assert driver.skipped == 1


def test_a_record_cache_of_the_settings_holds_records_back_until_a_commit() -> None:
    settings = {"statestore.cache.max.bytes": "1000000"}

    with TopologyDriver(counting(), settings=settings) as driver:
        driver.input_topic("orders").pipe_inputs([("tea", {"amount": 1.0})] * 2)
        assert len(driver.output_topic("counts-by-item")) == 0
        driver.commit()

        assert driver.output_topic("counts-by-item").read_key_values() == [("tea", {"n": 2})]
