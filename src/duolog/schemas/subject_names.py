"""Name the subject of a record's key or value.

    TopicNameStrategy         orders-key, orders-value
    RecordNameStrategy        the full name of the record's schema
    TopicRecordNameStrategy   orders-<full name>

Source: Confluent's subject name strategies; Java programs name them by their class.
"""

from enum import Enum
from typing import Final

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."


class SubjectStrategy(Enum):
    """The rule by which serializers choose the subject of a schema."""

    TOPIC_NAME = "TopicNameStrategy"
    RECORD_NAME = "RecordNameStrategy"
    TOPIC_RECORD_NAME = "TopicRecordNameStrategy"

    @property
    def class_name(self) -> str:
        """The name of Confluent's class."""
        return _PACKAGE + self.value

    @property
    def names_records(self) -> bool:
        """True if the subject depends on the record's schema."""
        return self is not SubjectStrategy.TOPIC_NAME


def strategy_of(name: str) -> SubjectStrategy | None:
    """Return the strategy of a class name, with or without its package; None for another class.

    Example:
        >>> strategy_of("io.confluent.kafka.serializers.subject.RecordNameStrategy")
        <SubjectStrategy.RECORD_NAME: 'RecordNameStrategy'>
    """
    short = name.removeprefix(_PACKAGE)
    return next((one for one in SubjectStrategy if one.value == short), None)


def subject_of(
    strategy: SubjectStrategy, topic: str, record_name: str | None, *, is_key: bool
) -> str | None:
    """Return the subject of a schema in a topic; None if it must have a name and has none.

    Example:
        >>> subject_of(SubjectStrategy.TOPIC_NAME, "orders", None, is_key=False)
        'orders-value'
        >>> subject_of(SubjectStrategy.TOPIC_RECORD_NAME, "orders", "acme.Order", is_key=False)
        'orders-acme.Order'
    """
    if strategy is SubjectStrategy.TOPIC_NAME:
        return f"{topic}-{'key' if is_key else 'value'}"
    if record_name is None:
        return None
    return record_name if strategy is SubjectStrategy.RECORD_NAME else f"{topic}-{record_name}"
