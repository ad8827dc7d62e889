"""Errors of invalid topologies name the operator, the line, the columns, and a remedy."""

from collections.abc import Callable

import pytest

from duolog import Topology, acc, col, session, tumbling, unlimited
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream, Table


def visits(topology: Topology) -> Stream:
    return topology.stream("visits", key="user STRING", value="place STRING")


def places(topology: Topology) -> Table:
    return topology.table("places", key="user BIGINT", value="city STRING")


def users(topology: Topology) -> Table:
    return topology.table("users", key="user STRING", value="home STRING")


def counting(topology: Topology) -> None:
    grouped = users(topology).group_by("home")
    grouped.aggregate(initializer={"n": 0}, adder={"n": acc("n") + 1})


def of_sessions(topology: Topology) -> None:
    windowed = visits(topology).group_by_key().windowed_by(session("1 h"))
    windowed.aggregate(initializer={"n": 0}, adder={"n": acc("n") + 1})


def on_close(topology: Topology) -> None:
    visits(topology).group_by_key().windowed_by(tumbling("1 h"), emit="on close").count()


def until_close(topology: Topology) -> None:
    hourly = visits(topology).group_by_key().windowed_by(tumbling("1 h")).count()
    hourly.suppress(until="window close")


def without_an_end(topology: Topology) -> None:
    visits(topology).group_by_key().windowed_by(unlimited(), emit="on close").count()


def feeding_itself(topology: Topology) -> None:
    visits(topology).filter(col("place") != "home").to("visits")
    topology.build()


@pytest.mark.parametrize(
    ("define", "what", "detail", "hint"),
    [
        (
            lambda topology: visits(topology).join(places(topology)),
            'cannot join stream "stream-1" with table "table-2"',
            "(user STRING), the table's (user BIGINT)",
            "select_key",
        ),
        (
            lambda topology: users(topology).join(places(topology)),
            'cannot join table "table-1" with table "table-2" by key',
            "(user STRING) and (user BIGINT)",
            "to_stream().select_key(...).to_table()",
        ),
        (
            counting,
            'cannot subtract rows from accumulator "n" of "aggregate-3"',
            '"table-1" is a table: its rows change. The adder is (acc.n + 1).',
            "subtractor",
        ),
        (
            of_sessions,
            'cannot merge accumulator "n" of two sessions in "aggregate-3"',
            "sessions 3600000 ms apart",
            "merger",
        ),
        (on_close, 'the windows of "aggregate-3"', "3600000 ms", 'grace="5 minutes"'),
        (until_close, 'the windows of "aggregate-3"', "3600000 ms", 'grace="5 minutes"'),
        (without_an_end, 'the window of "aggregate-3" never closes', "", "suppress"),
        (feeding_itself, 'topic "visits" feeds itself', "visits → visits", "loop=True"),
    ],
)
def test_an_invalid_plan_is_refused_with_operator_line_and_columns(
    define: Callable[[Topology], None], what: str, detail: str, hint: str
) -> None:
    with pytest.raises(StatementError) as caught:
        define(Topology("t"))

    assert what in caught.value.message
    assert detail in (caught.value.detail or "")
    assert hint in (caught.value.hint or "")
    assert caught.value.place.startswith("tests/unit/dsl/test_refusals.py:")
