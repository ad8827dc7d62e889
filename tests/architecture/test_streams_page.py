"""The page of the DSL knows what every operator is called in Kafka Streams, and names nothing that has gone."""

from dataclasses import replace
from typing import Any

import pytest
from kafka_streams_names import (
    OTHERWISE,
    OURS_ALONE,
    PROPERTIES,
    THEIRS,
    counterparts,
    names_there,
)
from operator_evidence import ensure_shown, evidence_table, find_test
from shown_operators import SHOWN
from streams_page import operator_classes, operator_names

from duolog.dsl.joins.global_tables import GlobalTable
from duolog.dsl.streams import Table


def ours() -> list[str]:
    return operator_names(operator_classes())


def test_every_operator_has_a_name_in_kafka_streams() -> None:
    named = names_there(ours())

    assert named["Stream.select_key"] == "KStream.selectKey"
    of_groups = ("KGroupedStream", "KGroupedTable", "TimeWindowedKStream", "SessionWindowedKStream")
    assert named["Grouped.count"] == ", ".join(f"{there}.count" for there in of_groups)
    assert [name for name, there in named.items() if not there] == []


def test_an_operator_missing_from_the_page_is_named() -> None:
    with pytest.raises(LookupError, match=r"Stream\.twist: add to \w+ in scripts/lib"):
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
    assert {here for here, _ in OTHERWISE.values()} <= {*ours(), *PROPERTIES}
    handles = {of.__name__: of for of in (Table, GlobalTable)}
    assert all(
        hasattr(handles[of], name) for of, _, name in (one.partition(".") for one in PROPERTIES)
    )
    assert set(OURS_ALONE) <= set(ours())


def test_every_operator_has_tests_that_are_there_and_call_it() -> None:
    ensure_shown(SHOWN, ours())

    assert all(find_test(row.runs).modes for row in SHOWN if "Stream.merge" in row.operators)
    assert "| `merge` | [micro-batch, real time](../../tests/" in evidence_table(SHOWN)


def test_an_operator_that_nothing_shows_and_a_row_of_none_are_named() -> None:
    with pytest.raises(LookupError, match=r"^Stream\.twist: add to \w+ in scripts/lib"):
        ensure_shown(SHOWN, [*ours(), "Stream.twist"])
    with pytest.raises(LookupError, match=r"^Stream\.merge: there is no such operator"):
        ensure_shown(SHOWN, [name for name in ours() if name != "Stream.merge"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"verified_by": "conformance/streams/test_gone.py::test_it"},
            r"test_gone\.py::test_it does not",
        ),
        ({"runs": "unit/test_x.py::test_it"}, r"tests/unit/test_x\.py::test_it does not exist"),
        (
            {"verified_by": "architecture/test_size.py::test_no_file_grows_beyond"},
            r"does not exist: update",
        ),
        (
            {"verified_by": "architecture/test_docs.py::test_every_link_of_a_page_leads_to_a_file"},
            r"does not call Stream\.merge: it cannot verify",
        ),
        (
            {"runs": "architecture/test_docs.py::test_every_link_of_a_page_leads_to_a_file"},
            r"calls none of Stream\.merge: it cannot run",
        ),
    ],
)
def test_a_missing_test_or_one_without_the_operator_is_no_evidence(
    changes: dict[str, Any], message: str
) -> None:
    (merge,) = (row for row in SHOWN if row.operators == "Stream.merge")

    with pytest.raises(LookupError, match=message):
        ensure_shown(
            [*(row for row in SHOWN if row is not merge), replace(merge, **changes)], ours()
        )
