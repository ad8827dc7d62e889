"""Reductions, cogroups, and streams as tables."""

import pytest

from duolog import Topology, acc, col, lit, other, session
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream
from duolog.testing.driver import TopologyDriver


def paid(topology: Topology) -> Stream:
    return topology.stream("paid", key="who STRING", value="euro BIGINT, at STRING")


def test_the_first_record_is_the_initial_value_of_a_reduction() -> None:
    topology = Topology("t")
    reduced = paid(topology).group_by_key().reduce({"euro": acc("euro") * 10 + col("euro")})
    reduced.to("reduced")

    driver = TopologyDriver(topology)
    driver.input_topic("paid").pipe_inputs([("bob", {"euro": n, "at": None}) for n in (3, 4, 5)])

    rows = driver.output_topic("reduced").read_key_values()
    assert rows == [("bob", {"euro": 3}), ("bob", {"euro": 34}), ("bob", {"euro": 345})]


@pytest.mark.parametrize(
    ("adder", "said"),
    [
        ({}, "reduce needs an adder"),
        ({"who": col("who")}, 'unknown value column "who"'),
        ({"euro": col("erro")}, 'unknown column "erro"'),
        ({"euro": col("at").length()}, "reads at, which reduce does not store"),
        ({"euro": lit("x")}, "euro"),
    ],
)
def test_invalid_reductions_are_refused(adder: dict[str, object], said: str) -> None:
    with pytest.raises(StatementError, match=said):
        paid(Topology("t")).group_by_key().reduce(adder)  # type: ignore[arg-type]


def test_reducing_a_grouped_table_needs_a_subtractor() -> None:
    table = Topology("t").table("t", key="id BIGINT", value="who STRING, euro BIGINT")

    with pytest.raises(StatementError, match="cannot subtract rows"):
        table.group_by("who").reduce({"euro": acc("euro") + col("euro")})


def test_each_stream_of_a_cogroup_has_its_own_adder() -> None:
    topology = Topology("t")
    back = topology.stream("back", key="id BIGINT", value="customer STRING, euro BIGINT")
    both = paid(topology).group_by_key().cogroup({"euro": acc("euro") + col("euro")})
    both = both.cogroup(
        back.group_by("customer"), {"euro": acc("euro") - col("euro"), "n": acc("n") + 1}
    )
    both.materialized("balance").aggregate(initializer={"euro": lit(0), "n": lit(0)}).to("balance")

    driver = TopologyDriver(topology)
    driver.input_topic("paid").pipe_input("bob", {"euro": 9, "at": "x"})
    driver.input_topic("back").pipe_input(7, {"customer": "bob", "euro": 2})
    driver.input_topic("back").pipe_input(8, {"customer": None, "euro": 2})

    assert driver.store("balance") == {"bob": {"euro": 7, "n": 1}}


def test_groups_with_other_key_types_are_refused() -> None:
    topology = Topology("t")
    other_key = topology.stream("o", key="id BIGINT", value="n BIGINT").group_by_key()

    with pytest.raises(StatementError, match=r"groups of streams .* differ") as caught:
        paid(topology).group_by_key().cogroup({}).cogroup(other_key, {})

    assert caught.value.detail == "Their keys are (who STRING) and (id BIGINT)."


def test_an_adder_of_an_unknown_accumulator_is_refused() -> None:
    both = paid(Topology("t")).group_by_key().cogroup({"eur": acc("eur") + 1})

    with pytest.raises(StatementError, match='unknown accumulator "eur"'):
        both.aggregate(initializer={"euro": lit(0)})


def test_a_cogroup_in_sessions_needs_a_merger() -> None:
    both = paid(Topology("t")).group_by_key().cogroup({"n": acc("n") + 1})
    sessions = both.windowed_by(session("1 minute"))

    with pytest.raises(StatementError, match="cannot merge accumulator"):
        sessions.aggregate(initializer={"n": lit(0)})
    rows = sessions.aggregate(initializer={"n": lit(0)}, merger={"n": acc("n") + other("n")})
    assert rows.schema.window is not None


def test_a_cogroup_refuses_tables() -> None:
    table = Topology("t").table("t", key="id BIGINT", value="who STRING")

    with pytest.raises(StatementError, match="cannot cogroup table"):
        table.group_by("who").cogroup({})


def test_to_table_keeps_the_last_row_of_each_key() -> None:
    topology = Topology("t")
    paid(topology).filter(col("at") != "here").to_table("rows").to("rows-of-all")

    driver = TopologyDriver(topology)
    values = [{"euro": 1, "at": "a"}, {"euro": 2, "at": "b"}, {"euro": 3, "at": "here"}]
    driver.input_topic("paid").pipe_inputs([("bob", value) for value in values])
    driver.input_topic("paid").pipe_input(None, {"euro": 4, "at": "a"})

    assert driver.store("rows") == {"bob": {"euro": 2, "at": "b"}}


def test_a_null_value_deletes_the_row_of_to_table() -> None:
    topology = Topology("t")
    paid(topology).to_table("rows").to("rows-of-all")

    driver = TopologyDriver(topology)
    driver.input_topic("paid").pipe_inputs([("bob", {"euro": 1, "at": "a"}), ("bob", None)])

    assert driver.store("rows") == {}
    assert driver.output_topic("rows-of-all").read_key_values()[-1] == ("bob", None)


def test_to_table_needs_a_key() -> None:
    with pytest.raises(StatementError, match="has no key, which a table requires"):
        Topology("t").stream("s", value="n BIGINT").to_table()


def test_a_stream_can_read_several_topics() -> None:
    topology = Topology("t")
    topology.stream(["a", "b", "a"], key="id BIGINT", value="n BIGINT").to("all")

    driver = TopologyDriver(topology)
    driver.input_topic("b").pipe_input(1, {"n": 1})
    driver.input_topic("a").pipe_input(2, {"n": 2})

    assert driver.output_topic("all").read_key_values() == [(1, {"n": 1}), (2, {"n": 2})]


def test_a_stream_without_topics_is_refused() -> None:
    with pytest.raises(StatementError, match="a stream needs a topic"):
        Topology("t").stream([], value="n BIGINT")
