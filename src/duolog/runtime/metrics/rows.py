"""Define the metrics of applications for Prometheus, one row each.

Also the source of the reference page.

Names are those that the JMX exporter gives to Kafka Streams' metrics, so that dashboards for Kafka
Streams work with Duolog: `kafka_streams_stream_task_metrics_process_total`. Metrics that Kafka does
not have start with `duolog_`. Counters start at 0 with each JVM. Record ages are a histogram, where
Kafka Streams has average, minimum and maximum.

Source: Kafka Streams' `StreamsMetricsImpl`; KIP-444, KIP-613, KIP-846, KIP-607 (state).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics, SinkMetrics, StoreMetrics

Kind = Literal["counter", "gauge"]
Labels = dict[str, object]
Samples = Iterable[tuple[Labels, float]]

_ALL_OF_IT: Final = "triggerExecution"
_S: Final = 1000


class Row(NamedTuple):
    """A metric family: name, kind, documentation, and its samples for one application."""

    name: str
    kind: Kind
    doc: str
    samples: Callable[["Metrics"], Samples]


def _tasks(metrics: "Metrics") -> Samples:
    return (({"task_id": task.task}, task.records) for task in metrics.tasks)


def _stream_time(metrics: "Metrics") -> Samples:
    return (
        ({"task_id": task.task}, task.stream_time_ms / _S)
        for task in metrics.tasks
        if task.stream_time_ms is not None
    )


def _lateness_avg(metrics: "Metrics") -> Samples:
    return (
        ({"task_id": task.task}, task.lateness_sum_ms / task.records)
        for task in metrics.tasks
        if task.records
    )


def _lateness_max(metrics: "Metrics") -> Samples:
    return (({"task_id": task.task}, task.lateness_max_ms) for task in metrics.tasks)


def _processed(metrics: "Metrics") -> Samples:
    for task in metrics.tasks:
        for node in task.nodes:
            yield {"task_id": task.task, "processor_node_id": node.node}, node.process_total


def _forwarded(metrics: "Metrics") -> Samples:
    for task in metrics.tasks:
        for node in task.nodes:
            yield {"task_id": task.task, "processor_node_id": node.node}, node.forward_total


def _dropped(metrics: "Metrics") -> Samples:
    for task in metrics.tasks:
        for node in task.nodes:
            labels: Labels = {"task_id": task.task, "processor_node_id": node.node}
            for reason, count in node.dropped.items():
                yield labels | {"reason": reason}, count


def _stores(metrics: "Metrics") -> "Iterator[tuple[Labels, StoreMetrics]]":
    for task in metrics.tasks:
        for store in task.stores:
            yield {"task_id": task.task, "rocksdb_state_id": store.store}, store


def _consumed(metrics: "Metrics") -> Samples:
    return (
        ({"topic_name": source.topic, "partition": source.partition}, source.records_consumed)
        for source in metrics.sources
    )


def _lag(metrics: "Metrics") -> Samples:
    for source in metrics.sources:
        if (lag := source.lag_records) is not None:
            yield {"topic": source.topic, "partition": source.partition}, lag


def _lag_seconds(metrics: "Metrics") -> Samples:
    for source in metrics.sources:
        if (lag := source.lag_ms(metrics.at_ms)) is not None:
            yield {"topic": source.topic, "partition": source.partition}, lag / _S


def _epoch_max(metrics: "Metrics") -> Samples:
    return [({}, metrics.epochs.longest_ms / _S)]


def _phases(metrics: "Metrics") -> Samples:
    phases = metrics.epochs.phases_ms.items()
    return (({"phase": phase}, ms / _S) for phase, ms in phases if phase != _ALL_OF_IT)


ROWS: Final = (
    Row(
        "duolog_application_info",
        "gauge",
        "1, with the application's state and mode as labels.",
        lambda m: [({"state": m.state, "mode": m.mode}, 1)],
    ),
    Row(
        "duolog_records_in_total",
        "counter",
        "Records read from all topics.",
        lambda m: [({}, m.records_in)],
    ),
    Row(
        "duolog_records_out_total",
        "counter",
        "Records written to all topics.",
        lambda m: [({}, m.records_out)],
    ),
    Row(
        "duolog_skipped_records_total",
        "counter",
        "Records skipped by an exception handler, by failed stage.",
        lambda m: (({"stage": stage}, count) for stage, count in m.skipped.items()),
    ),
    Row(
        "duolog_failed_calls_total",
        "counter",
        "Function calls in SQL expressions that failed and returned NULL.",
        lambda m: [({}, m.failed_calls)],
    ),
    Row(
        "kafka_streams_stream_task_metrics_process_total",
        "counter",
        "Records of a task: of a sub-topology, or of a source topic partition.",
        _tasks,
    ),
    Row(
        "duolog_task_stream_time_seconds",
        "gauge",
        "Greatest timestamp seen by a task, in seconds since 1970.",
        _stream_time,
    ),
    Row(
        "kafka_streams_stream_task_metrics_record_lateness_avg",
        "gauge",
        "Average lateness of records relative to stream time, in milliseconds.",
        _lateness_avg,
    ),
    Row(
        "kafka_streams_stream_task_metrics_record_lateness_max",
        "gauge",
        "Maximum lateness of records relative to stream time, in milliseconds.",
        _lateness_max,
    ),
    Row(
        "kafka_streams_stream_processor_node_metrics_process_total",
        "counter",
        "Records received by a node.",
        _processed,
    ),
    Row(
        "duolog_processor_node_forward_total", "counter", "Records forwarded by a node.", _forwarded
    ),
    Row(
        "kafka_streams_stream_task_metrics_dropped_records_total",
        "counter",
        "Records dropped by a node, by reason: null_key, null_value, late, out_of_order, error.",
        _dropped,
    ),
    Row(
        "kafka_streams_stream_topic_metrics_records_consumed_total",
        "counter",
        "Records read from a topic partition.",
        _consumed,
    ),
    Row(
        "kafka_consumer_consumer_fetch_manager_metrics_records_lag",
        "gauge",
        "Records of a topic partition not yet read.",
        _lag,
    ),
    Row(
        "duolog_records_lag_seconds",
        "gauge",
        "Age of the last record read, by its timestamp, if more records are available; else 0.",
        _lag_seconds,
    ),
    Row(
        "kafka_streams_stream_topic_metrics_records_produced_total",
        "counter",
        "Records written to a topic.",
        lambda m: (({"topic_name": one.topic}, one.records_produced) for one in m.sinks),
    ),
    Row(
        "kafka_streams_stream_topic_metrics_bytes_produced_total",
        "counter",
        "Bytes of keys and values written to a topic.",
        lambda m: (({"topic_name": one.topic}, one.bytes_produced) for one in m.sinks),
    ),
    Row(
        "kafka_streams_stream_thread_metrics_commit_total",
        "counter",
        "Committed micro-batches and epochs.",
        lambda m: [({}, m.epochs.count)],
    ),
    Row(
        "duolog_epoch_seconds_total",
        "counter",
        "Total duration of micro-batches and epochs.",
        lambda m: [({}, m.epochs.phases_ms.get(_ALL_OF_IT, 0) / _S)],
    ),
    Row(
        "duolog_epoch_seconds_max",
        "gauge",
        "Duration of the longest micro-batch or epoch.",
        _epoch_max,
    ),
    Row(
        "duolog_epoch_phase_seconds_total",
        "counter",
        "Total duration of their phases, under Spark's names.",
        _phases,
    ),
    Row(
        "kafka_streams_stream_state_metrics_estimate_num_keys",
        "gauge",
        "Rows of a store in a task; counted at commits, in at most 1 % of the time, so a large "
        "store's may be old.",
        lambda m: ((labels, store.rows) for labels, store in _stores(m)),
    ),
    Row(
        "duolog_store_bytes",
        "gauge",
        "Bytes of keys and values of a store in a task, before compression.",
        lambda m: ((labels, store.bytes) for labels, store in _stores(m)),
    ),
    Row(
        "duolog_store_counted_timestamp_seconds",
        "gauge",
        "Time of that count, in seconds since 1970; absent while the count is a lower bound.",
        lambda m: (
            (labels, store.counted_at_ms / _S)
            for labels, store in _stores(m)
            if store.counted_at_ms is not None
        ),
    ),
    Row(
        "kafka_streams_stream_state_metrics_total_sst_files_size",
        "gauge",
        "Size of RocksDB's files after the last commit, by level.",
        lambda m: (({"level": one.level}, one.bytes) for one in m.states),
    ),
    Row(
        "duolog_state_memory_bytes",
        "gauge",
        "Memory used by RocksDB, by level.",
        lambda m: (({"level": one.level}, one.memory_bytes) for one in m.states),
    ),
    Row(
        "duolog_state_commit_seconds",
        "gauge",
        "Duration of a level's last commit, summed over tasks, which commit in parallel.",
        lambda m: (({"level": one.level}, one.commit_ms / _S) for one in m.states),
    ),
)
"""All metrics except the histogram."""

AGES: Final = "kafka_streams_stream_processor_node_metrics_record_e2e_latency_ms"
AGES_DOC: Final = "Milliseconds from a record's timestamp until it was written to a topic."


def ages(sink: "SinkMetrics") -> Iterator[tuple[str, int]]:
    """Yield the buckets of a sink's histogram, in ms, with cumulative counts.

    Example:
        >>> from duolog.engine.query.metrics import SinkMetrics
        >>> list(ages(SinkMetrics("t", 4, 0, 9, (1, 2, 0, 1))))
        [('0', 1), ('1', 3), ('3', 3), ('+Inf', 4)]
    """
    seen = 0
    last = len(sink.e2e_latency_counts) - 1
    for place, count in enumerate(sink.e2e_latency_counts):
        seen += count
        # Ages are whole numbers: less than 2^place is at most 2^place - 1.
        yield ("+Inf" if place == last else str(2**place - 1)), seen
