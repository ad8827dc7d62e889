"""Named operators."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream


def visits() -> tuple[Topology, Stream]:
    topology = Topology("v")
    return topology, topology.stream("visits", key="user STRING", value="place STRING")


def test_a_step_name_appears_in_the_description_and_the_store() -> None:
    topology, stream = visits()
    somewhere = stream.named("all").filter(col("place") != "").named("somewhere")
    somewhere.group_by_key().count().named("by-user").to("out", name="result")

    assert [node.name for node in topology.build().nodes] == [
        "all",
        "somewhere",
        "by-user",
        "result",
    ]
    assert topology.build().nodes[2].stores == ("by-user-store",)
    assert "somewhere: where (place <> '')" in topology.describe()


def test_a_step_name_does_not_change_if_steps_are_added_before() -> None:
    _, stream = visits()
    counted = stream.map_values("place").peek().group_by("place").count().named("by-place")
    counted.to("out")

    assert counted.node.stores == ("by-place-store",)


def test_a_named_store_keeps_its_name() -> None:
    _, stream = visits()

    counted = stream.group_by_key().materialized("kept").count().named("by-user")

    assert counted.node.stores == ("kept",)


def test_joins_and_tables_can_have_names() -> None:
    topology, stream = visits()
    users = topology.table("users", key="user STRING", value="age INT").named("users")
    both = users.outer_join(users, prefix="b_").named("twice")
    stream.join(users).named("joined").to("out")
    both.to("both")

    assert users.node.stores == ("users-store",)
    names = [node.name for node in topology.build().nodes]
    assert {"users", "twice", "joined"} < set(names)


def test_a_step_name_is_unique() -> None:
    _, stream = visits()
    stream.filter(col("place") != "").named("some")

    with pytest.raises(StatementError, match='two nodes have the name "some"') as error:
        stream.map_values("place").named("some")
    assert "The first one is at" in str(error.value.detail)
    with pytest.raises(StatementError, match='two nodes have the name "some"'):
        stream.to("out", name="some")


def test_invalid_step_names_are_refused() -> None:
    _, stream = visits()

    for name in ("", "a b", "..", "x" * 250):
        with pytest.raises(StatementError, match="is not a valid name of a step"):
            stream.named(name)


def test_a_step_already_read_cannot_be_renamed() -> None:
    _, stream = visits()
    stream.filter(col("place") != "")

    with pytest.raises(StatementError, match='"stream-1" cannot be called "all" any more'):
        stream.named("all")


def test_using_a_handle_from_before_the_rename_is_refused() -> None:
    _, stream = visits()
    stream.named("all")

    with pytest.raises(StatementError, match='"stream-1" was renamed to "all"') as error:
        stream.filter(col("place") != "")
    assert error.value.hint == "Continue with the result of named(...)."
