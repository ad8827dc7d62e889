"""Kafka's names: defaults for its clients in the JVM, unless the user sets them. Bytes and ms."""

from typing import Final

from duolog.core.units import KIB, MIB

# Half of the throughput of micro-batches depends on these.
CONSUMER: Final = {
    "max.poll.records": "20000",
    "max.partition.fetch.bytes": str(4 * MIB),
    "fetch.max.bytes": str(64 * MIB),
    "isolation.level": "read_committed",
    # A stop waits for pending requests to an unreachable broker: a minute with Kafka's default.
    "default.api.timeout.ms": "15000",
    "request.timeout.ms": "10000",
    # A deleted topic would be created again, with one partition.
    "allow.auto.create.topics": "false",
}
CONSUMER_OF_MICRO_BATCHES: Final = CONSUMER | {
    # A micro-batch reads only what is there. Spark asks for the ends of a partition after each
    # poll, and a broker answers that after the fetch beyond the last record: Kafka's default lets
    # each micro-batch that reaches the end wait half a second.
    "fetch.max.wait.ms": "5",
}
RECORD_BATCH_BYTES_MAX: Final = 256 * KIB
PRODUCER: Final = {
    "acks": "all",
    "enable.idempotence": "true",
    "batch.size": str(RECORD_BATCH_BYTES_MAX),
    "buffer.memory": str(64 * MIB),
    "compression.type": "lz4",
}
