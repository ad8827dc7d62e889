"""The page of the DSL knows what every operator is called in Kafka Streams, and names nothing that has gone."""

import pytest
from kafka_streams_names import OTHERWISE, OURS_ALONE, THEIRS, counterparts, names_there
from streams_page import operator_classes, operator_names


def ours() -> list[str]:
    return operator_names(operator_classes())


def test_every_operator_has_a_name_in_kafka_streams() -> None:
    named = names_there(ours())

    assert named["Stream.select_key"] == "KStream.selectKey"
    of_groups = ("KGroupedStream", "KGroupedTable", "TimeWindowedKStream", "SessionWindowedKStream")
    assert named["Grouped.count"] == ", ".join(f"{there}.count" for there in of_groups)
    assert [name for name, there in named.items() if not there] == []


def test_an_operator_that_stands_nowhere_is_named() -> None:
    with pytest.raises(LookupError, match=r"Stream\.twist: say in scripts/lib"):
        names_there([*ours(), "Stream.twist"])


def test_an_operator_is_taken_up_by_its_name_alone() -> None:
    rows = {row.theirs: row for row in counterparts(["Stream.for_each", "Branches.default_branch"])}

    assert rows["KStream.foreach"].ours == "Stream.for_each"
    assert rows["BranchedKStream.defaultBranch"].ours == "Branches.default_branch"


def test_the_table_names_no_operator_that_has_gone() -> None:
    theirs = {
        f"{interface}.{name}" for interface, names in THEIRS.items() for name in names.split()
    }

    assert set(OTHERWISE) <= theirs
    assert {here for here, _ in OTHERWISE.values()} <= set(ours())
    assert set(OURS_ALONE) <= set(ours())
