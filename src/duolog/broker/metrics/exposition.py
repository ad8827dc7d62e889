"""All metrics of a broker as text, piece by piece, so that a scrape does not hold the loop.

Names are those that the JMX exporter gives to Kafka's own, so that a dashboard for Kafka shows
this broker: `kafka_server_brokertopicmetrics_messagesin_total`. What Kafka has no name for begins
with `duolog_`. Times are histograms here, where Kafka has quantiles.

With more partitions than `metrics.partitions.max` there are no lines for single partitions, and
with more topics than that none for single topics: sums are always there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.metrics.process_stats import process_lines
from duolog.broker.metrics.quotas import quota_lines
from duolog.broker.metrics.security import security_lines
from duolog.broker.metrics.text import Kind, Labels, Sample, head, histograms, line, single
from duolog.core.histogram import TIMES_S, Histogram
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.topics.topics import Topic

_RUNNING: Final = 3
"""Kafka's BrokerState RUNNING."""

_TOPIC: Final = "kafka_server_brokertopicmetrics_"
_GROUP_STATES: Final = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Assigning",
    "Reconciling",
)


def exposition(broker: "Broker") -> Iterator[str]:
    """Yield the text in pieces of a few lines."""
    topics = sorted(broker.topics, key=lambda topic: topic.name)
    limit = broker.settings.integer("metrics.partitions.max")
    partitions = sum(len(topic.partitions) for topic in topics)
    yield from _singles(broker, len(topics), partitions)
    yield from _fetch_sessions(broker)
    yield from _requests(broker)
    yield from _connections(broker)
    yield from _groups(broker)
    yield from _topic_lines(broker, topics, named=len(topics) <= limit)
    if partitions <= limit:
        yield from _partition_lines(topics)
    yield single(
        "duolog_metrics_partitions_left_out",
        "gauge",
        "Partitions without lines of their own: metrics.partitions.max.",
        0 if partitions <= limit else partitions,
    )
    yield from quota_lines(broker)
    yield from security_lines(broker)
    yield from process_lines()


def _singles(broker: "Broker", topics: int, partitions: int) -> Iterator[str]:
    offline = broker.rounds.failure is not None
    refused = sum(row.refused is not None for topic in broker.topics for row in topic.partitions)
    rows: tuple[tuple[str, Kind, str, float], ...] = (
        ("kafka_server_kafkaserver_brokerstate", "gauge", "3 is running.", _RUNNING),
        ("kafka_server_replicamanager_partitioncount", "gauge", "Partitions.", partitions),
        ("kafka_server_replicamanager_leadercount", "gauge", "Partitions led here.", partitions),
        (
            "kafka_server_replicamanager_underreplicatedpartitions",
            "gauge",
            "Partitions with fewer replicas in sync than they should have; one is all here.",
            0,
        ),
        (
            "kafka_server_replicamanager_underminisrpartitioncount",
            "gauge",
            "Partitions below min.insync.replicas; always 0.",
            0,
        ),
        (
            "kafka_server_replicamanager_offlinereplicacount",
            "gauge",
            "Partitions whose log is damaged, or in a log directory that is offline.",
            partitions if offline else refused,
        ),
        (
            "kafka_log_logmanager_offlinelogdirectorycount",
            "gauge",
            "Log directories that are offline.",
            int(offline),
        ),
        ("kafka_controller_kafkacontroller_activecontrollercount", "gauge", "One: this broker.", 1),
        ("kafka_controller_kafkacontroller_globaltopiccount", "gauge", "Topics.", topics),
        (
            "kafka_controller_kafkacontroller_globalpartitioncount",
            "gauge",
            "Partitions.",
            partitions,
        ),
        (
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            "gauge",
            "Partitions that cannot be written.",
            partitions if offline else refused,
        ),
        (
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            "gauge",
            "Partitions that are not compacted any more, because it failed twice.",
            len(broker.cleaner.uncleanable),
        ),
    )
    for row in rows:
        yield single(*row)


def _fetch_sessions(broker: "Broker") -> Iterator[str]:
    sessions = broker.fetch_sessions
    rows: tuple[tuple[str, Kind, str, float], ...] = (
        (
            "kafka_server_fetchsessioncache_numincrementalfetchsessions",
            "gauge",
            "Fetch sessions.",
            len(sessions),
        ),
        (
            "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
            "gauge",
            "Partitions of fetch sessions.",
            sessions.partitions_count,
        ),
        (
            "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
            "counter",
            "Fetch sessions that gave way to others.",
            sessions.evicted,
        ),
    )
    for row in rows:
        yield single(*row)


def _requests(broker: "Broker") -> Iterator[str]:
    counters = broker.counters
    times = dict(counters.cold)
    times["Produce"] = counters.produce_times
    fetch = Histogram(TIMES_S)
    fetch.counts = list(counters.fetch_waited.counts)
    fetch.sum = counters.fetch_waited.sum
    # Answered in the round that they came in: 1 ms is the most that one of them took, as a rule.
    fetch.counts[TIMES_S.index(0.001)] += counters.fetch_at_once
    times["Fetch"] = fetch
    name = "kafka_network_requestmetrics_requests_total"
    yield head(name, "counter", "Requests that came.")
    router = broker.router
    for code, count in list(router.counts.items()):
        if code in router.routes:
            served, _ = router.routes[code]
            yield line(name, {"request": served.name, "version": code & 0xFFFF}, count)
    name = "kafka_network_requestmetrics_errors_total"
    yield head(name, "counter", "Requests that ended with an unexpected error.")
    for api, count in sorted(counters.errors.items()):
        yield line(name, {"request": api}, count)
    items: list[tuple[Labels, Histogram]] = [
        ({"request": api}, histogram) for api, histogram in sorted(times.items())
    ]
    yield from histograms(
        "kafka_network_requestmetrics_totaltimems",
        "Milliseconds from request to answer; of Produce from the write to the answer.",
        items,
        scale=SECOND_MS,
    )
    yield from histograms(
        "kafka_log_logflushstats_logflushrateandtimems",
        "Milliseconds of each sync to the disk; one serves all requests that wait.",
        [({}, broker.group_commit.commit_times)],
        scale=SECOND_MS,
    )
    yield single(
        "duolog_rounds_in_flight", "gauge", "Rounds that wait for the disk.", broker.rounds.flights
    )


def _connections(broker: "Broker") -> Iterator[str]:
    connections = broker.connections
    parked = waiting = unsent = 0
    open_by_listener: Counter[str] = Counter({row.name: 0 for row in broker.endpoints})
    for connection in connections:
        parked += len(connection.parked)
        waiting += len(connection.in_flight)
        unsent += connection.sends
        open_by_listener[connection.listener] += 1
    name = "kafka_server_socket_server_metrics_connection_count"
    yield head(name, "gauge", "Open connections.")
    for listener, count in open_by_listener.items():
        yield line(name, {"listener": listener}, count)
    name = "kafka_server_socket_server_metrics_connection_creation_total"
    yield head(name, "counter", "Connections that came.")
    for listener, count in connections.accepted.items():
        yield line(name, {"listener": listener}, count)
    yield single(
        "duolog_connections_refused_total",
        "counter",
        "Connections above a limit.",
        connections.refused,
    )
    name = "kafka_server_delayedoperationpurgatory_purgatorysize"
    yield head(name, "gauge", "Requests that wait for something to happen.")
    yield line(name, {"delayedoperation": "Fetch"}, parked)
    yield single(
        "kafka_network_requestchannel_requestqueuesize",
        "gauge",
        "Requests without an answer.",
        waiting,
    )
    yield single(
        "kafka_network_requestchannel_responsequeuesize",
        "gauge",
        "Connections with answers that their clients have not read.",
        unsent,
    )


def _groups(broker: "Broker") -> Iterator[str]:
    if broker.groups.loading:
        return
    states: Counter[str] = Counter()
    for group in broker.groups.list_groups():
        states[group.state] += 1
    prefix = "kafka_coordinator_group_groupmetadatamanager_numgroups"
    yield single(prefix, "gauge", "Groups.", states.total())
    for state in _GROUP_STATES:
        yield single(prefix + state.lower(), "gauge", f"Groups in state {state}.", states[state])


def _topic_lines(broker: "Broker", topics: list["Topic"], *, named: bool) -> Iterator[str]:
    records: list[Sample] = []
    bytes_in: list[Sample] = []
    for topic in topics:
        labels = {"topic": topic.name}
        records.append((labels, sum(row.log.appended_records for row in topic.served)))
        bytes_in.append((labels, sum(row.log.appended_bytes for row in topic.served)))
        yield ""  # A topic may have thousands of partitions: others take their turn.
    bytes_out: list[Sample] = [({"topic": topic.name}, topic.fetched_bytes) for topic in topics]
    for name, doc, samples in (
        ("messagesin_total", "Records appended since the start.", records),
        ("bytesin_total", "Bytes of record batches appended since the start.", bytes_in),
        ("bytesout_total", "Bytes of record batches fetched since the start.", bytes_out),
    ):
        yield head(_TOPIC + name, "counter", doc)
        yield line(_TOPIC + name, {}, sum(value for _, value in samples))
        if named:
            for sample in samples:
                yield line(_TOPIC + name, *sample)


def _partition_lines(topics: Iterable["Topic"]) -> Iterator[str]:
    families = (
        ("kafka_log_log_logendoffset", "Log end offset.", "log_end_offset"),
        ("kafka_log_log_logstartoffset", "Log start offset.", "log_start_offset"),
        ("kafka_log_log_size", "Bytes on disk.", "size_bytes"),
        ("kafka_log_log_numlogsegments", "Segments.", "segments_count"),
    )
    for name, doc, attribute in families:
        yield head(name, "gauge", doc)
        for topic in topics:
            for partition in topic.served:
                labels = {"topic": topic.name, "partition": partition.index}
                yield line(name, labels, getattr(partition.log, attribute))
