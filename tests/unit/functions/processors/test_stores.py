"""Edge cases of processors' stores: keys without an order, and timestamps that are not allowed in topics."""

import functools
import math
from typing import Any

import pytest

from duolog import (
    Processor,
    Record,
    Topology,
    key_value_store,
    session_store,
    versioned_store,
    window_store,
)
from duolog.core.errors import QueryError
from duolog.testing import TopologyDriver

TEXT: dict[str, Any] = {"key": "id STRING", "value": "said STRING"}


class Asking(Processor):
    """Makes the store calls that its records name, and forwards the results."""

    def process(self, record: Record) -> None:
        numbers, texts = self.context.store("numbers"), self.context.store("texts")
        times = self.context.store("times")
        for number in (math.inf, math.nan, 1.0, -math.inf):
            numbers.put(number, "n")
        for key in (("N", 1), (None, 2), ("None", 3), ("", 4)):
            texts.put(key, "t")
        if record.value["said"] == "early":
            times.put("a", "t", -1)
        found = [
            [key for key, _ in numbers.all()],
            [key for key, _ in numbers.range(1.0, math.inf)],
            [key for key, _ in texts.prefix_scan("N")],
        ]
        self.context.forward(record.with_value({"said": f"{found}"}))


ASKED = [
    key_value_store("numbers", key="n DOUBLE", value="said STRING"),
    key_value_store("texts", key="a STRING, b INT", value="said STRING"),
    key_value_store("times", **TEXT, timestamped=True),
]


def driven() -> TopologyDriver:
    topology = Topology("asked")
    topology.stream("in", **TEXT).process(Asking, stores=ASKED).to("out")
    return TopologyDriver(topology, processing_exception_handler="log_and_continue")


def test_keys_without_an_order_come_after_all_others() -> None:
    with driven() as driver:
        driver.input_topic("in").pipe_input("a", {"said": "x"})

        ((_, results),) = driver.output_topic("out").read_key_values()
        assert results == {
            "said": "[[-inf, 1.0, inf, nan], [1.0, inf], [('N', 1), ('None', 3)]]",
        }
        assert repr(list(driver.store("numbers"))) == "[-inf, 1.0, inf, nan]"
        assert list(driver.store("texts").prefix_scan("N")) == [("N", 1), ("None", 3)]


def test_a_null_key_column_matches_no_prefix() -> None:
    with driven() as driver:
        driver.input_topic("in").pipe_input("a", {"said": "x"})

        assert list(driver.store("texts").prefix_scan("None")) == [("None", 3)]
        assert (None, 2) in driver.store("texts")


def test_a_put_before_1970_fails_its_record_and_stores_nothing() -> None:
    with driven() as driver:
        driver.input_topic("in").pipe_input("a", {"said": "early"})

        assert driver.skipped == 1
        assert len(driver.store("times")) == 0


@pytest.mark.parametrize(
    ("make", "put"),
    [
        (lambda **of: key_value_store(timestamped=True, **of), lambda kept: kept.put("a", "t", -1)),
        (functools.partial(versioned_store, history="1 day"), lambda kept: kept.put("a", "t", -1)),
        (functools.partial(versioned_store, history="1 day"), lambda kept: kept.delete("a", -1)),
        (
            functools.partial(window_store, size="1 minute", retention="1 day"),
            lambda kept: kept.put("a", "t", -60_000),
        ),
        (
            functools.partial(session_store, retention="1 day"),
            lambda kept: kept.put("a", -1, 5, "t"),
        ),
    ],
)
def test_stores_refuse_timestamps_that_a_changelog_cannot_have(make: Any, put: Any) -> None:
    """Topics have no timestamps before 1970: with a changelog, the query would fail and not the record."""

    class Early(Processor):
        def process(self, record: Record) -> None:
            put(self.context.store("kept"))

    topology = Topology("early")
    topology.stream("in", **TEXT).process(Early, stores=[make(name="kept", **TEXT)])
    with (
        TopologyDriver(topology) as driver,
        pytest.raises(QueryError, match="cannot process") as failed,
    ):
        driver.input_topic("in").pipe_input("a", {"said": "x"})
    assert "must not be negative" in (failed.value.detail or "")
