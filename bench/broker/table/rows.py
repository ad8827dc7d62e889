"""The rows of the table: the load on both brokers, and the goals for the ratios.

A row has a description for the table: records, batches, linger, count, durability of both sides.
`run` applies the load to one broker and returns figures by name, to which the goals refer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.broker.table import clients
from bench.broker.table.clients import Figures
from bench.broker.table.generator import produce_frame, run_load
from bench.broker.table.measured_brokers import MeasuredBroker, create_topic, end_offsets

JAVA_RECORDS: Final = 3_000_000
RDKAFKA_RECORDS: Final = 1_000_000
LARGE_BATCH_RECORDS: Final = 2000
"""2,000 records of 100 bytes are a batch of 216 KB."""
_FETCHED_RECORDS: Final = 1_000_000
_FETCHED_SINGLES: Final = 50_000


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal for the ratio Duolog / Kafka of a figure: at least, or at most if less is better."""

    figure: str
    ratio: float
    less: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `pair` names the two brokers."""

    name: str
    work: str
    load: str
    goals: tuple[Goal, ...]
    run: Callable[[MeasuredBroker, str], Figures]
    pair: tuple[str, str] = ("duolog", "kafka")
    partitions: int = 1
    prepare: Callable[[MeasuredBroker, str], None] | None = None
    """Fills the topic once before all rounds; without it, each run uses a new topic."""


def raw(
    mode: str = "produce",
    *,
    records: int = 1,
    record_bytes: int = 100,
    codec: str = "none",
    acks: int = -1,
    idempotent: bool = False,
    **options: object,
) -> Callable[[MeasuredBroker, str], Figures]:
    """Return a run of the load generator."""

    def run(measured: MeasuredBroker, topic: str) -> Figures:
        frame = produce_frame(
            topic,
            records=records,
            record_bytes=record_bytes,
            codec=codec,
            acks=acks,
            idempotent=idempotent,
        )
        ids = {"producer_id": 1000} if idempotent else {}
        return flat(run_load(mode, measured.address, topic, frame, **ids, **options))

    return run


def flat(found: Any) -> Figures:
    """Return the generator's output as figures by name."""
    times = {
        f"{prefix}{name}_ms": value
        for key, prefix in (("answer_ms", ""), ("delivery_ms", "delivery_"))
        for name, value in (found[key] or {}).items()
    }
    rates = {name: value for name, value in found.items() if name.endswith("_per_s")}
    return {"records": found["records_in_all"], **rates, **times}


def fill(records: int) -> Callable[[MeasuredBroker, str], None]:
    """Return a function that fills each of four partitions with batches of `records`."""

    def prepare(measured: MeasuredBroker, topic: str) -> None:
        wanted = _FETCHED_RECORDS if records > 1 else _FETCHED_SINGLES
        frame = produce_frame(topic, records=records)
        create_topic(measured, topic, 4)
        while min(end_offsets(measured, topic, 4)) < wanted:
            load = {"connections": 4, "in_flight": 32, "partitions": 4}
            run_load("produce", measured.address, topic, frame, warm_up=0, seconds=1, **load)

    return prepare


def fetched(records: int, fetch_bytes: int = 1 << 20) -> Callable[[MeasuredBroker, str], Figures]:
    """Return a run that reads the records written by `fill`."""
    wanted = _FETCHED_RECORDS if records > 1 else _FETCHED_SINGLES
    return raw(
        "fetch",
        records=records,
        connections=4,
        partitions=4,
        end_offset=wanted,
        fetch_bytes=fetch_bytes,
    )


def _produced_before(codec: str) -> Callable[[MeasuredBroker, str], None]:
    def prepare(measured: MeasuredBroker, topic: str) -> None:
        create_topic(measured, topic)
        clients.rdkafka_produce(measured, topic, RDKAFKA_RECORDS, codec, idempotent=False)

    return prepare


def _java_rows() -> Iterator[Row]:
    count = f"{JAVA_RECORDS:,} records of 100 bytes, one partition"
    large = ("batch.size=262144", "linger.ms=20")
    for name, said, properties in (
        ("java", "batch.size 16384, linger 5 ms", ()),
        ("java_large", "batch.size 262144, linger 20 ms", large),
    ):
        for codec in ("none", "lz4"):
            yield Row(
                f"{name}_{codec}",
                f"Java producer, acks=all, idempotent, {codec}, {said}",
                f"{count}; {said}",
                (Goal("records_per_s", 1.2), Goal("p99_ms", 0.35, less=True)),
                lambda measured, topic, codec=codec, properties=properties: (  # type: ignore[misc]
                    clients.java_produce(measured, topic, JAVA_RECORDS, codec, *properties)
                ),
            )
    yield Row(
        "java_consume",
        "Java consumer, in a group",
        f"{RDKAFKA_RECORDS:,} records of 100 bytes, one partition; written by librdkafka before",
        (Goal("fetch_records_per_s", 1.0),),
        lambda measured, topic: clients.java_consume(measured, topic, RDKAFKA_RECORDS),
        prepare=_produced_before("none"),
    )


def _rdkafka_rows() -> Iterator[Row]:
    count = f"{RDKAFKA_RECORDS:,} records of 100 bytes, one partition"
    for codec in ("none", "lz4"):
        for idempotent in (False, True):
            kind = "idempotent" if idempotent else "plain"
            yield Row(
                f"rdkafka_{kind}_{codec}",
                f"librdkafka produce, acks=all, {kind}, {codec}",
                f"{count}; linger 5 ms; from Python, in lists of 1,000",
                (Goal("records_per_s", 0.95),),
                lambda measured, topic, codec=codec, idempotent=idempotent: (  # type: ignore[misc]
                    clients.rdkafka_produce(
                        measured, topic, RDKAFKA_RECORDS, codec, idempotent=idempotent
                    )
                ),
            )
        yield Row(
            f"rdkafka_consume_{codec}",
            f"librdkafka consume, assigned, {codec}",
            f"{count}; into Python, 10,000 at a time",
            (Goal("records_per_s", 0.95),),
            lambda measured, topic: clients.rdkafka_consume(measured, topic, RDKAFKA_RECORDS),
            prepare=_produced_before(codec),
        )


def _pipelined_rows() -> Iterator[Row]:
    one = "batches of one 100-byte record, one partition, 2 s"
    rate = "requests_per_s"
    for name, connections, in_flight, ratio in (
        ("raw_4x64", 4, 64, 5.0),
        ("raw_4x5", 4, 5, 3.0),
        ("raw_32x1", 32, 1, 1.2),
        ("raw_1x1", 1, 1, 1.2),
    ):
        yield Row(
            name,
            f"produce, {connections} connections x {in_flight} in flight",
            one,
            (Goal(rate, ratio),),
            raw(connections=connections, in_flight=in_flight, partitions=1),
        )
    yield Row(
        "raw_4x5_idempotent",
        "produce, 4 connections x 5 in flight, idempotent",
        one.replace("one partition", "a partition each"),
        (Goal(rate, 3.0),),
        raw(connections=4, in_flight=5, partitions=4, idempotent=True),
        partitions=4,
    )
    yield Row(
        "raw_4x5_lz4_acks1",
        "produce, 4 connections x 5 in flight, acks=1, lz4",
        "batches of 100 records of 100 bytes, one partition, 2 s",
        (Goal(rate, 1.2),),
        raw(connections=4, in_flight=5, partitions=1, records=100, codec="lz4", acks=1),
    )
    yield Row(
        "raw_large",
        "produce, 216 KB batches, 4 connections x 5 in flight",
        "batches of 2,000 records of 100 bytes, one partition, 2 s",
        (Goal("mb_per_s", 1.0),),
        raw(connections=4, in_flight=5, partitions=1, records=LARGE_BATCH_RECORDS),
    )


def _fetch_rows() -> Iterator[Row]:
    for name, records, fetch_bytes, said in (
        ("fetch_large", LARGE_BATCH_RECORDS, 1 << 20, "216 KB batches, fetches of 1 MiB"),
        ("fetch_small", 1, 1 << 20, "batches of one record, fetches of 1 MiB"),
        ("fetch_short", 1, 1 << 12, "batches of one record, fetches of 4 KiB"),
    ):
        yield Row(
            name,
            f"fetch of warm data: {said}",
            "4 connections, a partition each, 100-byte records, 2 s",
            (Goal("mb_per_s", 1.0),),
            fetched(records, fetch_bytes),
            partitions=4,
            prepare=fill(records),
        )
    yield Row(
        "paced",
        "produce to consume at 200 messages/s",
        "one 100-byte record at a time, one partition, a waiting fetch, 5 s",
        (
            Goal("delivery_p50_ms", 0.7, less=True),
            Goal("delivery_p99_ms", 0.2, less=True),
        ),
        raw("paced", rate=200, in_flight=64, partitions=1, seconds=5),
    )
    yield Row(
        "mixed",
        "500 connections, 1,000 partitions, mixed load",
        "400 producers x 1 in flight, batches of 10 records of 100 bytes; "
        "100 consumers waiting at the tail of 10 partitions each, 4 s",
        (Goal("requests_per_s", 1.0), Goal("p99_ms", 0.5, less=True)),
        raw(
            "mixed",
            connections=400,
            consumers=100,
            partitions=1000,
            in_flight=1,
            records=10,
            warm_up=2,
            seconds=4,
        ),
        partitions=1000,
    )


def _fsync_rows() -> Iterator[Row]:
    one = "batches of one 100-byte record, one partition, 2 s"
    each_flushed = ("duolog_fsync", "kafka_fsync")
    none_flushed = ("duolog_fsync", "kafka")
    for connections, in_flight, ratio in ((1, 1, 1.2), (16, 1, 2.0), (4, 64, 10.0)):
        yield Row(
            f"fsync_{connections}x{in_flight}",
            f"fsync before acknowledgement, {connections} x {in_flight}",
            one,
            (Goal("requests_per_s", ratio),),
            raw(connections=connections, in_flight=in_flight, partitions=1),
            pair=each_flushed,
        )
    for records, ratio in ((1, 0.0), (100, 0.7), (LARGE_BATCH_RECORDS, 0.0)):
        yield Row(
            f"fsync_against_none_{records}",
            f"fsync before acknowledgement against none, batches of {records:,}",
            "4 connections x 5 in flight, 100-byte records, one partition, 2 s",
            (Goal("requests_per_s", ratio),) if ratio else (),
            raw(connections=4, in_flight=5, partitions=1, records=records),
            pair=none_flushed,
        )
    yield Row(
        "fsync_500_dirty",
        "fsync before acknowledgement, 4 x 64 over 500 partitions",
        "batches of one 100-byte record, 2 s; goal: p99 of 20 ms or less",
        (),
        raw(connections=4, in_flight=64, partitions=500),
        pair=each_flushed,
        partitions=500,
    )


ROWS: Final = {
    row.name: row
    for rows in (_java_rows, _rdkafka_rows, _pipelined_rows, _fetch_rows, _fsync_rows)
    for row in rows()
}
