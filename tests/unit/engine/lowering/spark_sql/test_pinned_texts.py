"""Checkpoints fit the program that wrote them, whatever a later version of Duolog lowers its expressions to.

`pinned_texts.json` has a digest of the pinned texts of each function. It was made by b506ee0, where
pinned texts begin. A digest that differs means that checkpoints of before are refused: give the
function its old lowering (`engine.pinned_texts`). A new function gets a line of its own.
`unpinned_texts.json` has the texts that ran in 1d63ab5, before there were pinned ones; a new
function has none.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from duolog import Topology, col, sum_, top_k, when
from duolog.dsl.streams import Stream, Table
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.shape_difference import bound, first_difference
from duolog.engine.json_object import Json
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.plan_shapes import shape_of_plan
from duolog.engine.lowering.spark_sql.pinned_texts import pinned_texts, unpinned_texts
from duolog.engine.lowering.sql_functions.registry import lower_sql_function
from duolog.engine.lowering.stores.store_layouts import UNPINNED, shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.plan.cutting.levels import find_levels
from duolog.plan.types import STRING, Array
from unit.engine.lowering.spark_sql.pinned_cases import pinned_cases

DIGESTS: Final = Path(__file__).with_name("pinned_texts.json")
UNPINNED_DIGESTS: Final = Path(__file__).with_name("unpinned_texts.json")
Build = Callable[[Stream, Table], object]


def digests() -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for function, call, text in pinned_cases():
        texts.setdefault(function, []).append(f"{call} = {text}")
    return {
        function: hashlib.sha256("\n".join(of).encode()).hexdigest()[:16]
        for function, of in sorted(texts.items())
    }


def test_each_function_keeps_its_pinned_text() -> None:
    pinned = json.loads(DIGESTS.read_text())

    with pinned_texts():
        assert digests() == pinned


def test_each_function_keeps_the_text_that_ran_before_there_were_pinned_ones() -> None:
    unpinned = json.loads(UNPINNED_DIGESTS.read_text())

    with unpinned_texts():
        now = digests()

    assert {function: now[function] for function in unpinned} == unpinned


def test_a_function_of_elements_has_the_text_of_1d63ab5() -> None:
    texts = Array(STRING)
    with unpinned_texts():
        lowered = lower_sql_function("TRANSFORM", ["v0", "`p_s` -> `p_s`"], [texts, texts], texts)

    assert lowered == "duolog_try(transform(v0, `p_s` -> `p_s`))"


def of_hot(threshold: int) -> Build:
    def build(stream: Stream, _table: Table) -> None:
        hot = when(col("d") > threshold, 1).otherwise(0)
        stream.group_by("kind").aggregate(hot=sum_(hot)).to("out")

    return build


def of_filtered_table(threshold: int) -> Build:
    def build(_stream: Stream, table: Table) -> None:
        warm = col("d").between(threshold, 99) & ~col("d").isin(50.0, 60.0)
        table.filter(warm).group_by("kind").count().to("out")

    return build


def of_top(_stream: Stream, table: Table) -> None:
    table.group_by("kind").aggregate(top=top_k("d", 2, "n")).to("out")


def upper(kind: str) -> str:
    return kind.upper()


def with_key(kind: str) -> tuple[str, int]:
    return kind, 1


def by_function(stream: Stream, _table: Table) -> None:
    stream.select_key(upper).group_by_key().count().to("out")


@dataclass
class Kind:
    name: str
    length: int


def kind_of(kind: str) -> Kind:
    return Kind(kind, len(kind))


def by_fields(stream: Stream, _table: Table) -> None:
    stream.select_key(kind_of).group_by_key().count().to("out")


def by_named_function(stream: Stream, _table: Table) -> None:
    stream.select_key(called=upper).group_by_key().count().to("out")


def by_pair(stream: Stream, _table: Table) -> None:
    stream.map(with_key).group_by_key().count().to("out")


def shape(build: Build) -> Json:
    topology = Topology("app")
    columns = "kind STRING, d DOUBLE, n INT"
    build(
        topology.stream("readings", key="id STRING", value=columns),
        topology.table("things", key="id STRING", value=columns),
    )
    levels = find_levels(topology.build(), 1)
    return shape_of_plan(levels, topology.name)


def part(of: Json, name: str) -> str:
    (layout,) = (layout for layout in of["stores"].values() if layout["called"].startswith("agg"))
    return " ".join(layout.get(name, ()))


@pytest.mark.parametrize(
    ("build", "name", "text"),
    [
        (of_hot(30), "row", "WHEN (readings.d > 30) THEN 1"),
        (
            of_filtered_table(3),
            "filters",
            "((things.d BETWEEN 3 AND 99) AND (NOT (things.d IN (50.0D, 60.0D))))",
        ),
        (of_top, "row", "named_struct('sort_col', things.d, 'col0', things.n)"),
        (by_function, "key", "upper(CAST(to_json("),
        (by_fields, "key", "duolog_python('app', 'kind_of', CAST(to_json("),
        (by_named_function, "key", "duolog_python('app', 'upper', CAST(to_json("),
        (by_pair, "key", "CAST((CAST(duolog_from_json(with_key("),
    ],
    ids=[
        "a comparison",
        "a filter before a table",
        "top",
        "a key by a function",
        "fields",
        "a named key",
        "a pair",
    ],
)
def test_layouts_equal_those_of_b506ee0(build: Build, name: str, text: str) -> None:
    assert text in part(shape(build), name)


def test_a_store_after_a_key_by_a_function_has_the_name_that_it_had() -> None:
    assert list(shape(by_function)["stores"]) == ["aggregate-6-store"]


@pytest.mark.parametrize("build", [of_hot, of_filtered_table])
def test_a_shape_in_the_texts_that_ran_before_fits_and_another_program_does_not(
    build: Callable[[int], Build],
) -> None:
    now, other = shape(build(30)), shape(build(31))
    unpinned = bound(now) | {"stores": now[UNPINNED]}

    assert "duolog_" in json.dumps(unpinned)
    assert first_difference(unpinned, now) == ""
    assert first_difference(unpinned, other)
    assert first_difference(now, other)


def test_a_start_rewrites_a_checkpoint_in_pinned_texts(tmp_path: Path) -> None:
    checkpoint, now = Checkpoint(tmp_path), shape(of_hot(30))
    kept = bound(now)
    checkpoint.pin("app", StartFacts(kept | {"stores": now[UNPINNED]}, {}, {"readings": "id"}))

    checkpoint.pin("app", StartFacts(now, {}, {"readings": "id"}))

    assert checkpoint.pinned_shape() == kept


def test_current_functions_have_no_pinned_text() -> None:
    topology = Topology("app")
    stream = topology.stream("readings", key="id STRING", value="kind STRING, d DOUBLE")
    stream.group_by("kind").aggregate(hot=sum_(when(col("d") > 30, 1).otherwise(0))).to("out")
    levels = find_levels(topology.build(), 1)
    with pinned_texts():
        lower(levels, "app", cache_bytes_max=0)

    spec = lower(levels, "app", cache_bytes_max=0)

    assert "duolog_greater(" in json.dumps(shape_of(spec, Names.of(levels)))
