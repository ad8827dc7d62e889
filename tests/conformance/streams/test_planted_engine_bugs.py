"""A test of the tests: each bug that is planted here makes the engine differ from Kafka Streams.

Bugs are planted in the kernel's sources (one line changed, compiled, loaded beside the real one)
and in the spec that the plan is lowered to. Each names the judged case that must find it.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from conformance.streams.in_memory import OpenDriver, run_in_memory
from conformance.streams.judge import ByTopic, KafkaStreams
from conformance.streams.judged_cases import (
    IN_SESSIONS,
    OF_BOTH_TABLES,
    Define,
    Mode,
    batches_of,
    branches_of_elements,
    cache_of,
    enriched,
    exploded_and_counted,
    filtered,
    flushed,
    grouped_by_its_own_key,
    in_hopping_windows,
    in_sessions,
    in_tumbling_windows,
    joined_with_its_own_count,
    joined_with_the_count_of_another,
    joins_of_joins,
    plan_of,
    regrouped_twice,
    split_into_branches,
    suppressed_and_looked_up,
    suppressed_for_a_time,
    tables_joined,
    tables_of_aggregates,
    times_of_old_rows,
    windows_on_close,
    without_headers,
)
from conformance.streams.judged_shapes import merged, repartitioned
from conformance.streams.planted import planted_driver
from conformance.streams.window_cases import in_sliding_windows
from duolog.engine.lower import lower

pytestmark = pytest.mark.spark

Spec = dict[str, Any]


class InKernel(NamedTuple):
    """A line of a class of the kernel, and the bug in its place."""

    bug: str
    java_class: str
    line: str
    planted: str
    found_by: Define
    mode: Mode = "each"


class InSpec(NamedTuple):
    """What a wrong lowering would give instead."""

    bug: str
    change: Callable[[Spec], None]
    found_by: Define
    mode: Mode = "each"


IN_KERNEL: Final = (
    InKernel(
        "partitions of merged topics are taken for one another",
        "Scope",
        "topic << PARTITION_BITS | sourcePartition",
        "sourcePartition",
        merged,
        "micro-batch",
    ),
    InKernel(
        "the record cache keeps the place of the first update",
        "KeyValueStore",
        "task.untold.remove(entry);",
        "",
        flushed,
        "cache",
    ),
    InKernel(
        "the record cache forgets what was told last",
        "KeyValueStore",
        "new Untold(entry.row, entry.ts)",
        "new Untold(null, entry.ts)",
        regrouped_twice,
        "cache",
    ),
    InKernel(
        "the record cache keeps the first headers",
        "KeyValueStore",
        "entry.untold.setBy(headers, scope.origin);\n",
        "if (entry.untold.origin == null) entry.untold.setBy(headers, scope.origin);\n",
        flushed,
        "cache",
    ),
    InKernel(
        "a store forgets timestamps",
        "KeyValueStore",
        "entry.ts = StoredRow.ts(bytes);",
        "entry.ts = 0;",
        flushed,
    ),
    InKernel(
        "a deleted row stays",
        "KeyValueStore",
        "    entry.row = null;\n    written(entry);",
        "    written(entry);",
        filtered,
    ),
    InKernel(
        "a table forgets its old rows",
        "TableNode",
        "UnsafeRow old = entry.row;",
        "UnsafeRow old = null;",
        grouped_by_its_own_key,
    ),
    InKernel(
        "an old row has the new one's time",
        "TableNode",
        "long oldTs = entry.ts;",
        "long oldTs = change.ts;",
        times_of_old_rows,
    ),
    InKernel(
        "a join of tables has the time of its last record",
        "JoinNode",
        "Math.max(change.ts, other.ts)",
        "change.ts",
        tables_joined,
    ),
    InKernel(
        "a join of tables tells deletions of what was nowhere",
        "JoinNode",
        "joined.needsOther() || (change.value == null && change.old == null)",
        "joined.needsOther()",
        tables_joined,
    ),
    InKernel(
        "a join of tables takes nothing back",
        "JoinNode",
        "if (withOld && oldJoined",
        "if (false && oldJoined",
        tables_joined,
    ),
    InKernel(
        "an outer join is one of the left side alone",
        "JoinedRow",
        "own == null ? other != null && !needsOwn",
        "own == null ? false",
        joins_of_joins,
    ),
    InKernel(
        "a store that was made later hands on what it held back first",
        "SubTopology",
        "int place = flushed.indexOf(store);",
        "int place = flushed.size() - 1 - flushed.indexOf(store);",
        tables_of_aggregates,
        "cache",
    ),
    InKernel(
        "an aggregate has the time of its last record",
        "AggregatingNode",
        "Math.max(entry.ts, change.ts)",
        "change.ts",
        flushed,
    ),
    InKernel(
        "nothing is taken back",
        "FoldNode",
        "boolean takesBack = table && change.old != null;",
        "boolean takesBack = false;",
        times_of_old_rows,
    ),
    InKernel(
        "old results are not handed on",
        "AggregatingNode",
        "withOld && oldAcc != null",
        "false",
        regrouped_twice,
    ),
    InKernel(
        "a window closes a millisecond late",
        "WindowRows",
        "return end <= task.streamTime",
        "return end < task.streamTime",
        in_tumbling_windows,
    ),
    InKernel(
        "the first of a record's windows is left out",
        "HoppingWindows",
        "Math.max(0, since(ts) - sizeMs + advanceMs)",
        "Math.max(0, since(ts) - sizeMs + 2 * advanceMs)",
        in_hopping_windows,
    ),
    InKernel(
        "a sliding window is made of one that holds too little",
        "SlidingFoldNode",
        "boolean holdsOthers = previous >= ts - windows.differenceMs();",
        "boolean holdsOthers = previous > ts - windows.differenceMs();",
        in_sliding_windows,
    ),
    InKernel(
        "what begins behind a record is forgotten",
        "SlidingFoldNode",
        "right.ts > change.ts && !starts.contains(start)",
        "right.ts > change.ts && false",
        in_sliding_windows,
    ),
    InKernel(
        "a sliding window closes a millisecond early",
        "SlidingWindows",
        "return graceMs + 1;",
        "return graceMs;",
        in_sliding_windows,
    ),
    InKernel(
        "stream time is forgotten",
        "WindowRows",
        "state.updateValue(TIME, ",
        "state.updateValue(BUCKETS, ",
        in_tumbling_windows,
    ),
    InKernel(
        "sessions that meet are not deleted",
        "SessionFoldNode",
        "if (joined.start() < change.ts || joined.end() > change.ts) {",
        "if (joined.start() < change.ts && joined.end() > change.ts) {",
        in_sessions,
    ),
    InKernel(
        "a session closes a millisecond early",
        "Sessions",
        "return gapMs + graceMs + 1;",
        "return gapMs + graceMs;",
        in_sessions,
    ),
    InKernel(
        "a session that came and went is spoken of",
        "KeyValueStore",
        "entry.row == null && untold.old == null",
        "false",
        in_sessions,
        "cache",
    ),
    InKernel(
        "every join is an inner join",
        "LookupNode",
        "if (right != null || left) {",
        "if (right != null) {",
        enriched,
    ),
    InKernel(
        "a table's old side is not filtered",
        "FilterNode",
        "old = Program.holds(predicate.applyToOld(row)) ? old : null;",
        "old = change.old;",
        filtered,
    ),
    InKernel(
        "a row that no longer passes is not deleted",
        "FilterNode",
        "if (versioned || value != null || old != null) {",
        "if (versioned || value != null) {",
        filtered,
    ),
    InKernel(
        "a change within a group is two updates",
        "RouteNode",
        "oldKey != null && oldKey.equals(newKey)",
        "false",
        times_of_old_rows,
    ),
    InKernel(
        "a row is not taken back from the group that it leaves",
        "RouteNode",
        "    if (oldKey != null) {",
        "    if (false) {",
        times_of_old_rows,
    ),
    InKernel(
        "null is a group",
        "RouteNode",
        "return key == null || key.anyNull() ? null : key;",
        "return key;",
        times_of_old_rows,
    ),
    InKernel(
        "inputs are not merged by time",
        "Merge",
        "int order = Long.compare(a.ts(), b.ts());",
        "int order = 0;",
        joined_with_the_count_of_another,
        "micro-batch",
    ),
    InKernel(
        "a filtered table is looked up without its filter",
        "ValueGetter",
        "Program.holds(program.applyToOld(operands.of(key, row, null, ts))) ? row : null",
        "row",
        enriched,
    ),
    InKernel(
        "every element is the first one",
        "ExplodeNode",
        "elements.setInt(arrayColumns, at);",
        "",
        exploded_and_counted,
    ),
    InKernel(
        "an outer explode is none",
        "ExplodeNode",
        "if (count == 0 && outer) {",
        "if (false) {",
        exploded_and_counted,
    ),
    InKernel(
        "what one record gives is ordered by edges alone",
        "Scope",
        "turn[target]++;",
        "",
        branches_of_elements,
        "micro-batch",
    ),
    InKernel(
        "a branch takes what the one before it refused, and the one before what it should not",
        "SplitNode",
        "&& !predicates[branch].test",
        "&& predicates[branch].test",
        split_into_branches,
    ),
    InKernel(
        "results on close leave in the order of keys turned round",
        "DueOrder",
        "return order != 0 ? order : Arrays.compareUnsigned(key, other.key);",
        "return order != 0 ? order : Arrays.compareUnsigned(other.key, key);",
        windows_on_close,
        "late",
    ),
    InKernel(
        "a window that ends now is open",
        "WindowRows",
        "return end <= task.streamTime - closing.delayMs();",
        "return end < task.streamTime - closing.delayMs();",
        windows_on_close,
        "late",
    ),
    InKernel(
        "a change that is held back begins to wait anew",
        "SuppressNode",
        "if (known.windows.isEmpty()) {",
        "known.windows.clear();\n      if (known.windows.isEmpty()) {",
        suppressed_for_a_time,
        "micro-batch",
    ),
    InKernel(
        "what is looked up is the row that waits",
        "SuppressNode",
        "return held.prior(waiting);",
        "return held.value(waiting);",
        suppressed_and_looked_up,
        "micro-batch",
    ),
)


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
        "what is repartitioned goes on at once",
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
    """What Kafka Streams writes, asked once for each case."""

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


def test_the_kernel_loaded_anew_writes_what_the_real_one_writes(
    spark: SparkSession, expected: Callable[[Define, Mode], list[ByTopic]], tmp_path: Path
) -> None:
    same = "boolean takesBack = table && change.old != null;"
    anew = planted_driver(spark, "FoldNode", same, same, tmp_path)

    assert run(spark, regrouped_twice, "cache", anew) == expected(regrouped_twice, "cache")


@pytest.mark.parametrize(
    "plant",
    [
        # A compiler is started for each: every second one is enough for the quick form.
        pytest.param(plant, id=plant.bug, marks=[pytest.mark.deep] if number % 2 else [])
        for number, plant in enumerate(IN_KERNEL)
    ],
)
def test_a_bug_planted_in_the_kernel_is_found(
    spark: SparkSession,
    expected: Callable[[Define, Mode], list[ByTopic]],
    tmp_path: Path,
    plant: InKernel,
) -> None:
    _, java_class, line, planted, define, mode = plant
    wrong = planted_driver(spark, java_class, line, planted, tmp_path)

    assert run(spark, define, mode, wrong) != expected(define, mode)


@pytest.mark.parametrize("plant", IN_SPEC, ids=lambda plant: plant.bug)
def test_a_bug_planted_in_the_lowering_is_found(
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
