"""The options of Spark's sources, with a fake Spark."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.query.launch.spark_sources import SparkSources
from duolog.engine.settings import EngineConfig

SPEC: dict[str, Any] = {
    "application_id": "app",
    "shuffle_partitions": 2,
    "nodes": {"1": {"everywhere": True}, "2": {}},
    "sources": [
        {"topic": "rates", "table": True, "children": [1]},
        {"topic": "orders", "table": False, "children": [2]},
    ],
}


def sources(directory: Path, spec: dict[str, Any] = SPEC, **more: Any) -> tuple[Any, SparkSources]:
    session, config = MagicMock(), EngineConfig("127.0.0.1:9092", directory)
    context = LaunchContext(session, config, Checkpoint(directory), spec)
    reader = session.spark_with.return_value.readStream.format.return_value
    return reader, SparkSources(context, {"rates": 1, "orders": 2}, **more)


def options(reader: Any) -> list[dict[str, str]]:
    return [call.kwargs for call in reader.options.call_args_list]


def test_sources_of_micro_batches_share_a_horizon_and_have_bounds_of_their_own(
    tmp_path: Path,
) -> None:
    reader, read = sources(tmp_path)

    read.in_micro_batches("h", {"orders": 500})

    rates, orders = options(reader)
    assert (rates["subscribe"], rates["horizon"], rates["horizon.input"]) == ("rates", "h", "0")
    assert (orders["subscribe"], orders["horizon"], orders["horizon.input"]) == ("orders", "h", "1")
    largest = str(read.context.config.offsets_per_trigger_max)
    assert (rates["maxOffsetsPerTrigger"], orders["maxOffsetsPerTrigger"]) == (largest, "500")
    assert (rates["horizon.table"], orders["horizon.table"]) == ("true", "false")
    assert (rates["horizon.global"], orders["horizon.global"]) == ("true", "false")
    assert "horizon.until" not in rates


def test_a_bounded_query_reads_nothing_of_topics_without_an_end(tmp_path: Path) -> None:
    reader, read = sources(tmp_path, until=lambda: {"orders": {0: 5}})

    read.in_micro_batches("h", {})

    ends = [json.loads(given["horizon.until"]) for given in options(reader)]
    assert ends == [{"rates": {}}, {"orders": {"0": 5}}]


def test_real_time_has_neither_a_horizon_nor_bounds(tmp_path: Path) -> None:
    reader, read = sources(tmp_path)

    read.in_real_time()

    for given in options(reader):
        assert not {"horizon", "maxOffsetsPerTrigger"} & given.keys()
        assert given["kafka.isolation.level"] == "read_committed"


def test_only_micro_batches_do_not_wait_for_records_beyond_their_ends(tmp_path: Path) -> None:
    reader, read = sources(tmp_path)

    read.in_micro_batches("h", {})
    in_batches = options(reader)
    read.in_real_time()

    assert {given["kafka.fetch.max.wait.ms"] for given in in_batches} == {"5"}
    for given in options(reader)[len(in_batches) :]:
        assert "kafka.fetch.max.wait.ms" not in given


def test_a_user_may_let_micro_batches_wait(tmp_path: Path) -> None:
    reader, read = sources(tmp_path)
    options_of_clients = {"fetch.max.wait.ms": "100"}
    config = EngineConfig("127.0.0.1:9092", tmp_path, client_options=options_of_clients)
    context = replace(read.context, config=config)

    replace(read, context=context).in_micro_batches("h", {})

    assert {given["kafka.fetch.max.wait.ms"] for given in options(reader)} == {"100"}


def test_ticks_are_a_source_only_if_a_task_requests_the_time(tmp_path: Path) -> None:
    found: list[object] = []
    for spec in (SPEC, SPEC | {"ticks": {}}):
        _, read = sources(tmp_path, spec)
        java_list = read.context.session.jvm.java.util.ArrayList.return_value
        read.in_real_time()
        found.append(java_list.add.call_count)

    assert found == [2, 3]
