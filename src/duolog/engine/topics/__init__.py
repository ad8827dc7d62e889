"""Source topics through Kafka clients: counts, offsets, patterns, samples and bounds."""
