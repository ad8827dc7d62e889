from collections.abc import Callable

import pytest

from duolog import Topology, col, session, sliding, tumbling, unlimited
from duolog.core.errors import StatementError
from duolog.dsl.streams import Table
from duolog.plan.nodes import Suppress
from duolog.plan.windows import Windows


def users(topology: Topology) -> Table:
    return topology.table("users", key="name STRING", value="city STRING")


def counted(windows: Windows, topology: Topology | None = None) -> Table:
    visits = (topology or Topology("t")).stream("visits", key="user STRING", value="n INT")
    return visits.group_by_key().windowed_by(windows).count()


@pytest.mark.parametrize(
    ("windows", "delay_ms"),
    [
        (tumbling("1 s", grace="5 s"), 5_000),
        (session("1 s", grace="5 s"), 6_001),
        (sliding("1 s", grace="5 s"), 5_001),
    ],
)
def test_a_row_is_buffered_as_long_as_its_window_accepts_records(
    windows: Windows, delay_ms: int
) -> None:
    table = counted(windows).filter(col("count") > 3).suppress(until="window close")

    assert isinstance(table.node, Suppress)
    assert table.node.delay_ms == delay_ms
    assert table.node.shut_down
    assert table.schema.window == windows.key


@pytest.mark.parametrize(
    ("refused", "message", "hint"),
    [
        (lambda: users(Topology("t")).suppress(until="window close"), "no windows", '"10 minutes"'),
        (lambda: counted(tumbling("1 s")).suppress(until="window close"), "late", 'grace="0 s"'),
        (lambda: counted(unlimited()).suppress(until="window close"), "never closes", "suppress"),
        (
            lambda: users(Topology("t")).suppress(),
            "either a time limit or until=",
            'until="window close"',
        ),
        (
            lambda: users(Topology("t")).suppress("1 s", until="window close"),
            "either a time limit or until=",
            "suppress",
        ),
        (
            lambda: users(Topology("t")).suppress(until="tomorrow"),  # type: ignore[arg-type]
            "tomorrow",
            "window close",
        ),
        (
            lambda: users(Topology("t")).suppress("1 s", when_full="drop"),  # type: ignore[arg-type]
            "drop",
            "shut down",
        ),
        (
            lambda: users(Topology("t")).suppress("1 s", max_records=0),
            "must be positive, not 0",
            "",
        ),
        (
            lambda: counted(tumbling("1 s", grace="0 s")).suppress(
                until="window close", max_records=5, when_full="emit"
            ),
            "not the final one",
            "when_full",
        ),
    ],
)
def test_invalid_suppressions_are_refused_with_a_hint(
    refused: Callable[[], Table], message: str, hint: str
) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        refused()

    assert hint in caught.value.hint


def test_its_store_can_be_named() -> None:
    held = users(Topology("t")).suppress("1 s", store="held")

    assert held.node.stores == ("held",)
