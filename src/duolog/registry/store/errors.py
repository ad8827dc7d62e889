"""Errors of the topic."""

from duolog.core.errors import KafkaError, RegistryError


class TopicUnsuitable(RegistryError):
    """The topic could lose schemas: it is not compacted, or has several partitions."""


class RecordDamaged(RegistryError):
    """A record of the topic has no meaning, and the registry may not skip it."""


class StoreUnavailable(KafkaError):
    """The topic cannot be read, or a write did not succeed."""


class RecordTooLarge(KafkaError):
    """A record exceeds the limit of the broker or the client."""


class WriterFenced(KafkaError):
    """Another registry has become the leader; nothing was written."""


class WriteUncertain(KafkaError):
    """The broker did not confirm a write in time; a new writer finds out whether it is there."""
