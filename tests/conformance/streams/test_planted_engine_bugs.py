"""The comparison with Kafka Streams finds each bug that is planted in the engine.

Bugs are planted in the kernel's sources (one line changed, compiled, loaded next to the real one)
and in the spec that the plan is lowered to. Each names the comparison case that must find it.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    IN_SESSIONS,
    OF_BOTH_TABLES,
    Define,
    Mode,
    batches_of,
    cache_of,
    enriched,
    filtered,
    flushed,
    joined_with_its_own_count,
    plan_of,
    regrouped_twice,
    times_of_old_rows,
    without_headers,
)
from conformance.streams.in_memory import OpenDriver, run_in_memory
from conformance.streams.merge_cases import repartitioned
from conformance.streams.oracle import ByTopic, KafkaStreams
from conformance.streams.planted import planted_driver
from conformance.streams.planted_lines import IN_KERNEL, InKernel
from duolog.engine.lowering.lower import lower

pytestmark = pytest.mark.spark

Spec = dict[str, Any]


class InSpec(NamedTuple):
    """The result of a wrong lowering."""

    bug: str
    change: Callable[[Spec], None]
    found_by: Define
    mode: Mode = "each"


def every_join_is_inner(node: Spec) -> None:
    if node["kind"] == "lookup":
        node["left"] = False


def rows_are_added_once_more(node: Spec) -> None:
    if node["kind"] == "fold" and node.get("subtract"):
        node["subtract"] = node["add"]


def counts_begin_at_one(node: Spec) -> None:
    if node["kind"] == "fold":
        node["init"] = ["1L", *node["init"][1:]]


def filters_let_all_through(node: Spec) -> None:
    if node["kind"] == "filter":
        node["predicate"] = "true"


def children_run_in_reverse(node: Spec) -> None:
    node["children"] = node["children"][::-1]


def results_are_exchanged(node: Spec) -> None:
    if node["kind"] == "fold":
        node["results"] = node["results"][::-1]


def keys_are_lost(node: Spec) -> None:
    if node["kind"] == "sink":
        node["key_bytes"] = "CAST(NULL AS BINARY)"


def in_each_node(change: Callable[[Spec], None]) -> Callable[[Spec], None]:
    def change_all(spec: Spec) -> None:
        for node in spec["nodes"].values():
            change(node)

    return change_all


def what_is_repartitioned_goes_on_at_once(spec: Spec) -> None:
    for edge in spec["edges"]:
        edge["rekeyed"] = False


IN_SPEC: Final = (
    *tuple(
        InSpec(change.__name__.replace("_", " "), in_each_node(change), found_by)
        for change, found_by in (
            (every_join_is_inner, enriched),
            (rows_are_added_once_more, times_of_old_rows),
            (counts_begin_at_one, flushed),
            (filters_let_all_through, filtered),
            (children_run_in_reverse, joined_with_its_own_count),
            (results_are_exchanged, regrouped_twice),
            (keys_are_lost, flushed),
        )
    ),
    InSpec(
        "repartitioned records are processed at once",
        what_is_repartitioned_goes_on_at_once,
        repartitioned,
    ),
)


@pytest.fixture(autouse=True, scope="module")
def interpreted(spark: SparkSession) -> Any:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.fixture(scope="module")
def expected(kafka_streams: KafkaStreams) -> Callable[[Define, Mode], list[ByTopic]]:
    """The output of Kafka Streams, computed once for each case."""

    @cache
    def ask(define: Define, mode: Mode) -> list[ByTopic]:
        plan = plan_of(define)
        batches = batches_of(plan, OF_BOTH_TABLES, mode)
        found = kafka_streams.run(plan, batches, cache_bytes_max=cache_of(mode))
        return without_headers(found) if define in IN_SESSIONS else found

    return ask


def run(
    spark: SparkSession, define: Define, mode: Mode, open_driver: OpenDriver | None = None
) -> list[ByTopic]:
    plan = plan_of(define)
    found = run_in_memory(
        spark,
        plan,
        batches_of(plan, OF_BOTH_TABLES, mode),
        cache_bytes_max=cache_of(mode),
        open_driver=open_driver,
    )
    return without_headers(found) if define in IN_SESSIONS else found


def test_reloaded_kernel_writes_the_same_as_the_original(
    spark: SparkSession, expected: Callable[[Define, Mode], list[ByTopic]], tmp_path: Path
) -> None:
    same = "boolean takesBack = table && change.old != null;"
    anew = planted_driver(spark, "FoldNode", same, same, tmp_path)

    assert run(spark, regrouped_twice, "cache", anew) == expected(regrouped_twice, "cache")


@pytest.mark.parametrize(
    "plant",
    [
        # A compiler is started for each: every fifth one is enough for the quick form.
        pytest.param(plant, id=plant.bug, marks=[pytest.mark.deep] if number % 5 else [])
        for number, plant in enumerate(IN_KERNEL)
    ],
)
def test_planted_kernel_bug_is_found(
    spark: SparkSession,
    expected: Callable[[Define, Mode], list[ByTopic]],
    tmp_path: Path,
    plant: InKernel,
) -> None:
    _, java_class, line, planted, define, mode = plant
    wrong = planted_driver(spark, java_class, line, planted, tmp_path)

    assert run(spark, define, mode, wrong) != expected(define, mode)


@pytest.mark.parametrize("plant", IN_SPEC, ids=lambda plant: plant.bug)
def test_planted_lowering_bug_is_found(
    spark: SparkSession,
    expected: Callable[[Define, Mode], list[ByTopic]],
    monkeypatch: pytest.MonkeyPatch,
    plant: InSpec,
) -> None:
    def lower_wrongly(*args: Any, **named: Any) -> Spec:
        spec = lower(*args, **named)
        plant.change(spec)
        return spec

    monkeypatch.setattr("conformance.streams.in_memory.lower", lower_wrongly)

    assert run(spark, plant.found_by, plant.mode) != expected(plant.found_by, plant.mode)
