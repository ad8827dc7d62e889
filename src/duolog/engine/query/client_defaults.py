"""What the engine asks of Kafka's clients in the JVM, where nobody has set it otherwise: names are Kafka's, values in bytes and ms."""

from typing import Final

from duolog.core.units import KIB, MIB

# Half of the throughput of a micro-batch comes from these.
CONSUMER: Final = {
    "max.poll.records": "20000",
    "max.partition.fetch.bytes": str(4 * MIB),
    "fetch.max.bytes": str(64 * MIB),
    "isolation.level": "read_committed",
    # A stop waits for what is asked of a broker that is away: a minute by Kafka's defaults.
    "default.api.timeout.ms": "15000",
    "request.timeout.ms": "10000",
    # A deleted topic would come back by itself, with one partition.
    "allow.auto.create.topics": "false",
}
RECORD_BATCH_BYTES_MAX: Final = 256 * KIB
PRODUCER: Final = {
    "acks": "all",
    "enable.idempotence": "true",
    "batch.size": str(RECORD_BATCH_BYTES_MAX),
    "buffer.memory": str(64 * MIB),
    "compression.type": "lz4",
}
