"""Results that wait: what a later start may change of them, and what is said where too many wait."""

from typing import Any

from duolog import Topology, tumbling
from duolog.dsl.streams import Table
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.lowering.lower import lower
from duolog.engine.spark.failures import Cause, query_failed
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes.aggregate import Emit
from unit.engine.lowering.shapes import shape_of_topology


def counted(topology: Topology, *, grace: str = "0 s", emit: Emit = "on update") -> Table:
    flights = topology.stream("flights", key="id STRING", value="dest STRING")
    grouped = flights.group_by("dest").materialized("by-dest")
    return grouped.windowed_by(tumbling("1 hour", grace=grace), emit=emit).count()


def shape(emit: Emit = "on update", grace: str = "0 s") -> dict[str, Any]:
    topology = Topology("app")
    counted(topology, emit=emit, grace=grace).to("out")
    return shape_of_topology(topology)


def held(*args: str, **limits: Any) -> dict[str, Any]:
    topology = Topology("app")
    counted(topology).suppress(*args, **limits, store="held").to("out")
    return shape_of_topology(topology)


def test_when_results_leave_is_part_of_the_store() -> None:
    """Otherwise rows emitted before the change would be retracted after it."""
    reported = first_difference(shape(), shape("on close"))

    assert "its windows was" in reported
    assert "emitted on close" in reported
    assert first_difference(shape("on close"), shape("on close", "1 hour")) == ""


def test_bounds_of_what_waits_may_change_and_its_time_may_not() -> None:
    assert first_difference(held("1 hour"), held("1 hour", max_records=5)) == ""
    assert "are buffered" in first_difference(held("1 hour"), held("2 hours"))
    assert "are buffered" in first_difference(held("1 hour"), held(until="window close"))


def test_a_table_that_holds_back_is_called_by_what_it_holds_back() -> None:
    topology = Topology("app")
    counted(topology).to("out")

    reported = first_difference(shape_of_topology(topology), held("1 hour"))

    assert 'The suppressed aggregate by dest is new, with store "held".' in reported


def test_the_order_of_results_is_that_of_the_group_s_key() -> None:
    topology = Topology("app")
    counted(topology, emit="on close").to("out")

    nodes = lower(find_levels(topology.build()), "app", cache_bytes_max=0)["nodes"].values()

    (fold,) = [node for node in nodes if node["kind"] == "window_fold"]
    assert fold["on_close"] == "CAST(k0 AS BINARY)"


def test_a_full_buffer_has_a_hint() -> None:
    error = query_failed(
        "app",
        [
            Cause("StreamingQueryException", "failed", "STREAM_FAILED"),
            Cause("StoreFullException", "cannot buffer more at suppress-2: 3 records wait", ""),
        ],
    )

    assert error.message == (
        'application "app" failed: cannot buffer more at suppress-2: 3 records wait'
    )
    assert "max_records" in error.hint
    assert not error.kind.may_pass
