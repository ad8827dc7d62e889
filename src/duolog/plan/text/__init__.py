"""Texts that describe a plan to people: Duolog's own form and that of Kafka Streams."""
