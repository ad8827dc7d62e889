"""Source topics through Kafka clients: counts, offsets, patterns, sampled records, and the bounds of a micro-batch."""
