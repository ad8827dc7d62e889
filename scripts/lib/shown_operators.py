"""The operators of the DSL, and the tests that verify and run each of them."""

from typing import Final

from operator_evidence import Shown

_S: Final = "conformance/streams/"
_VERIFIED: Final = f"{_S}test_kafka_streams.py::test_kafka_streams_writes_the_same"
_KERNEL: Final = (
    f"{_S}test_engine_semantics.py::test_kernel_writes_the_same_as_the_reference_evaluator"
)
_BESIDE: Final = (
    f"{_S}test_engine_metadata.py::test_restart_keeps_record_metadata_and_expires_old_rows"
)
_SHAPES: Final = f"{_S}test_engine_shapes.py::test_merged_streams_equal_the_result_of_all_records"
_TABLES: Final = (
    f"{_S}test_engine_table_joins.py::test_table_joins_equal_a_join_of_the_final_tables"
)
_SOURCES: Final = (
    f"{_S}test_engine_sources.py::"
    "test_application_starts_at_the_given_offsets_and_calls_each_record"
)
_RANDOM: Final = (
    f"{_S}test_random_topologies.py::test_random_topologies_agree_in_all_implementations"
)
_CLOSED_ROWS: Final = (
    f"{_S}test_closed_windows.py::test_kafka_streams_handles_closed_windows_the_same"
)
_METADATA: Final = (
    f"{_S}test_record_metadata.py::test_kafka_streams_reads_and_writes_the_same_metadata"
)
_PRINTS: Final = f"{_S}test_engine_prints.py::test_topology_that_only_prints_runs_and_prints"
_UNDONE: Final = (
    f"{_S}test_engine_aggregates_streaming.py::test_aggregates_retract_values_after_a_restart"
)
_WINDOWS: Final = (
    f"{_S}test_engine_window_kinds.py::test_all_kinds_of_windows_equal_the_reference_evaluator"
)
_CLOSED: Final = (
    f"{_S}test_engine_on_close.py::test_each_window_is_emitted_on_close_across_a_restart"
)

_TEXT: Final = f"{_S}test_streams_text.py::test_kafka_streams_prints_the_same_description"

SHOWN: Final = (
    Shown(
        "`topology.stream`",
        "Topology.stream",
        _VERIFIED,
        _SHAPES,
        differs="several topics as a list; `timestamp=` instead of an extractor",
    ),
    Shown(
        "`topology.stream(pattern=…)`, `start=`",
        "Topology.stream",
        _SOURCES,
        _SOURCES,
        differs="new topics are added at the next start; `start=` is stored as offsets",
    ),
    Shown("`topology.table`", "Topology.table", _VERIFIED, _TABLES, differs="has no record cache"),
    Shown(
        "`filter`, `filter_not`, `map_values`, `with_columns` of streams",
        "Stream.filter Stream.filter_not Stream.map_values Stream.with_columns",
        _VERIFIED,
        _SHAPES,
        ("operators_stateless",),
    ),
    Shown(
        "the same for tables",
        "Table.filter Table.filter_not Table.map_values Table.with_columns",
        _VERIFIED,
        _KERNEL,
        differs="a filtered table emits nothing for rows that never passed",
    ),
    Shown("`select_key`", "Stream.select_key", _VERIFIED, _KERNEL, differs="no repartition topic"),
    Shown("`map`", "Stream.map", _RANDOM, _KERNEL),
    Shown(
        "`process_to`",
        "Stream.process_to",
        f"{_S}test_processors.py::test_punctuation_runs_when_kafka_streams_punctuates",
        f"{_S}test_engine_processors.py::test_processors_run_in_each_mode_and_after_a_restart",
        differs="records are first moved to the tasks of their keys; children get forwarded "
        "records when the call returns",
    ),
    Shown(
        "`process`, `process_values`",
        "Stream.process Stream.process_values",
        "unit/functions/processors/test_processors.py::test_records_forwarded_with_another_key_are_shuffled_if_needed",
        f"{_S}test_engine_processors.py::test_processors_run_in_each_mode_and_after_a_restart",
        differs="see `process_to`",
    ),
    Shown(
        "`map_async`",
        "Stream.map_async",
        "unit/dsl/expressions/test_python_functions.py::test_look_ups_are_concurrent_and_keep_the_order",
        "conformance/streams/test_engine_python_functions.py::test_functions_run_in_each_mode_and_after_a_restart",
        differs="many records wait concurrently",
    ),
    Shown(
        "`distinct`",
        "Stream.distinct",
        f"{_S}test_distinct.py::test_first_record_of_each_key_is_forwarded_unchanged",
        f"{_S}"
        "test_engine_distinct.py::test_duplicates_are_dropped_in_each_mode_and_after_a_restart",
        differs="keys are stored for twice `within`",
    ),
    Shown(
        "`explode`",
        "Stream.explode",
        _VERIFIED,
        _PRINTS,
        differs="an expression returns the elements",
    ),
    Shown(
        "`flat_map_values`, `flat_map`",
        "Stream.flat_map_values Stream.flat_map",
        _RANDOM,
        _SHAPES,
        differs="an expression returns the elements",
    ),
    Shown("`split`", "Stream.split", _VERIFIED, _SHAPES),
    Shown("`merge`", "Stream.merge", _VERIFIED, _SHAPES),
    Shown(
        "`repartition`",
        "Stream.repartition",
        _VERIFIED,
        _SHAPES,
        differs="no repartition topic; records without a key are kept",
    ),
    Shown(
        "`repartition(partitions=…, partitioner=…)`",
        "Stream.repartition",
        f"{_S}test_engine_sources.py::test_records_reach_the_chosen_tasks",
        _SOURCES,
        differs="changes tasks, not partitions; joins and split keys after it are refused",
    ),
    Shown(
        "`for_each`, `peek(function)`",
        "Stream.for_each Table.for_each Stream.peek Table.peek",
        "unit/dsl/steps/test_for_each.py::test_a_function_is_called_with_each_record_and_its_metadata",
        _SOURCES,
        differs="called outside of the tasks, in the process that started the application",
    ),
    Shown(
        "`to`",
        "Stream.to Table.to",
        _VERIFIED,
        _SHAPES,
        differs="at least once; all topics that records can select must be listed",
    ),
    Shown(
        "`to(…, partitioner=…)`",
        "Stream.to",
        "unit/dsl/steps/test_key_functions.py::"
        "test_a_key_function_chooses_the_partition_or_leaves_it_to_the_hash",
        _SOURCES,
        differs="an expression over the record, or a function called once per key",
    ),
    Shown("`to_table`", "Stream.to_table", _VERIFIED, _SHAPES),
    Shown("`to_stream`", "Table.to_stream", _VERIFIED, _CLOSED),
    Shown(
        "`with_headers`, `without_headers`, `with_time`",
        "Stream.with_headers Stream.without_headers Stream.with_time",
        _METADATA,
        _BESIDE,
    ),
    Shown(
        "`timestamp=`, `invalid_timestamp=` of a source",
        "Topology.stream Topology.table",
        _METADATA,
        _BESIDE,
        differs="a column, an expression or the wall clock",
    ),
    Shown(
        "`named`, `materialized(…, ttl=…)`",
        "Stream.named Table.named Grouped.materialized CoGrouped.materialized",
        _BESIDE,
        _BESIDE,
        differs="Kafka Streams has no time to live",
    ),
    Shown(
        "`print`, `peek`",
        "Stream.print Table.print Stream.peek Table.peek",
        _PRINTS,
        _PRINTS,
        differs="show records",
    ),
    Shown(
        "`join`, `left_join` of a stream with a table",
        "Stream.join Stream.left_join",
        _VERIFIED,
        _KERNEL,
        ("operators_stream-table", "throughput"),
        "numbers of partitions may differ; `on=` re-keys",
    ),
    Shown(
        "the same with a global table",
        "Topology.global_table Stream.join Stream.left_join",
        f"{_S}test_kafka_streams.py::test_kafka_streams_finds_the_same_rows_of_global_tables",
        f"{_S}test_engine_global_tables.py::"
        "test_every_task_finds_initial_and_later_rows_of_a_global_table",
        differs="its rows are in the checkpoint, once per task",
    ),
    Shown(
        "the same with a versioned table, and with `grace=`",
        "Stream.left_join",
        f"{_S}test_kafka_streams.py::test_kafka_streams_finds_the_same_versions",
        f"{_S}test_engine_versioned_tables.py::"
        "test_buffered_orders_find_the_price_of_their_time_after_a_restart",
        differs="only tables read from topics",
    ),
    Shown(
        "`join`, `left_join`, `outer_join` of a stream with a stream",
        "Stream.join Stream.left_join Stream.outer_join",
        f"{_S}test_stream_joins.py::test_kafka_streams_joins_the_same",
        f"{_S}test_engine_stream_joins.py::"
        "test_stream_joins_emit_each_pair_and_each_unmatched_record",
        ("operators_stream-stream",),
        "unmatched records are emitted with the next record, not once per second",
    ),
    Shown(
        "`join`, `left_join`, `outer_join` of tables",
        "Table.join Table.left_join Table.outer_join",
        _VERIFIED,
        _TABLES,
        ("operators_table-table",),
        "windows of different sizes do not join; in Kafka Streams rows join if their "
        "windows start together",
    ),
    Shown(
        "`join`, `left_join` of tables by a foreign key",
        "Table.join Table.left_join",
        f"{_S}test_foreign_joins.py::test_kafka_streams_writes_the_same",
        f"{_S}test_engine_foreign_joins.py::test_foreign_key_joins_equal_a_join_of_the_final_tables",
        ("operators_foreign-key",),
        "responses are matched by a number, not by a hash",
    ),
    Shown(
        "`count`, `aggregate` of groups of a stream",
        "Stream.group_by Stream.group_by_key Grouped.count Grouped.aggregate",
        _VERIFIED,
        _KERNEL,
        ("operators_aggregate-100k", "operators_aggregate-1m", "throughput"),
        "the old value of a group's first result is null",
    ),
    Shown(
        "the same for groups of a table",
        "Table.group_by Grouped.aggregate",
        _VERIFIED,
        _UNDONE,
    ),
    Shown("`reduce`", "Grouped.reduce", _VERIFIED, _SHAPES),
    Shown(
        "`cogroup`",
        "Grouped.cogroup CoGrouped.cogroup CoGrouped.aggregate",
        _VERIFIED,
        _SHAPES,
        differs="all its streams share one stream time",
    ),
    Shown(
        "`windowed_by(tumbling(…))`, `hopping`",
        "Grouped.windowed_by",
        f"{_S}test_kafka_streams.py::test_kafka_streams_drops_the_same_late_records",
        f"{_S}test_engine_streaming.py::"
        "test_windows_stay_closed_after_a_restart_and_share_a_partition_per_key",
        ("operators_tumbling", "operators_hopping"),
        "stream time survives a restart; a record without a value is dropped",
    ),
    Shown(
        "`windowed_by(session(…))`",
        "Grouped.windowed_by",
        f"{_S}test_kafka_streams.py::test_kafka_streams_creates_the_same_sessions",
        _WINDOWS,
        ("operators_session",),
        "closed sessions are not reopened; results keep headers",
    ),
    Shown(
        "`windowed_by(sliding(…))`",
        "Grouped.windowed_by",
        f"{_S}test_window_kinds.py::test_kafka_streams_creates_the_same_sliding_windows",
        _WINDOWS,
        differs="the first result has no old value",
    ),
    Shown(
        "`windowed_by(calendar(…))`",
        "Grouped.windowed_by",
        f"{_S}test_window_kinds.py::test_kafka_streams_fills_the_same_calendar_windows",
        _WINDOWS,
        differs="Kafka Streams needs a custom class",
    ),
    Shown(
        "`windowed_by(unlimited(…))`, `offset=`",
        "Grouped.windowed_by",
        f"{_S}test_window_kinds.py::test_kafka_streams_fills_the_same_windows",
        _WINDOWS,
    ),
    Shown(
        "`cogroup(…).windowed_by`",
        "CoGrouped.windowed_by",
        f"{_S}test_kafka_streams.py::test_kafka_streams_cogroups_the_same_windows",
        _WINDOWS,
        differs="all its streams share one stream time",
    ),
    Shown(
        '`windowed_by(…, emit="on close")`',
        "Grouped.windowed_by",
        f"{_S}test_on_close.py::test_kafka_streams_emits_the_same_final_results",
        _CLOSED,
        ("operators_tumbling-on-close", "operators_session-on-close"),
        "no result is lost when time jumps",
    ),
    Shown(
        "`materialized(…, retention=…)` of windows",
        "Grouped.materialized",
        _CLOSED_ROWS,
        _WINDOWS,
    ),
    Shown(
        "`suppress`",
        "Table.suppress",
        f"{_S}test_on_close.py::test_kafka_streams_suppresses_the_same_changes",
        _CLOSED,
        differs="retractions downstream match the emitted results",
    ),
    Shown('`describe("kafka-streams")`', "Topology.describe", _TEXT, _TEXT),
    Shown(
        "`to_dicts`, `to_pandas`, `to_arrow`, `to_polars`, `live`",
        "Table.to_dicts Table.to_pandas Table.to_arrow Table.to_polars Table.live Stream.live",
        "conformance/test_current_rows.py::test_the_last_record_of_each_key_is_its_row",
        "conformance/test_current_rows.py::"
        "test_table_of_a_running_application_returns_its_written_rows",
        differs="read from the table's topic, not from the store",
    ),
)
