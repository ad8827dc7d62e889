"""Results that are read from all values of a group: each value once, or as often as it was added."""

import pytest

from duolog import Topology, collect_set, top_k, top_k_distinct
from duolog.dsl.expressions.columns import Expr
from duolog.testing import TopologyDriver


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (top_k("price", 2), [5, 5]),
        (top_k_distinct("price", 2), [5, 3]),
        (collect_set("price"), [3, 5]),
    ],
)
def test_a_value_of_two_rows_counts_once_only_if_values_are_distinct(
    aggregate: Expr, expected: list[int]
) -> None:
    topology = Topology("shop")
    prices = topology.table("prices", key="item STRING", value="kind STRING, price BIGINT")
    prices.group_by("kind").aggregate(aggregate.alias("found")).to_stream().to("out")

    with TopologyDriver(topology, engine="reference") as driver:
        given = driver.input_topic("prices")
        for item, price in (("a", 5), ("b", 3), ("c", 5), ("d", 9)):
            given.pipe_input(item, {"kind": "fruit", "price": price})
        given.pipe_input("d", None)

        assert driver.output_topic("out").read_table() == {"fruit": {"found": expected}}
