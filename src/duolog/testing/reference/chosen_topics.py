"""The topic of each record of a sink, in plain Python.

Source: Kafka Streams `TopicNameExtractor`.
"""

from collections.abc import Callable

from duolog.plan.expressions import Scope
from duolog.plan.nodes import Sink
from duolog.testing.reference.entries import Entry, named
from duolog.testing.reference.evaluation import Values, compile_expression
from duolog.testing.reference.scalars import RecordError


def topic_chooser(sink: Sink) -> Callable[[Entry], str]:
    """Return the function from a record to its topic; it raises RecordError if undeclared."""
    if sink.topic_of is None:
        return lambda _entry: sink.topic
    choose = compile_expression(sink.topic_of, Scope(sink.schema.columns, of_record=True))

    def compute(entry: Entry) -> str:
        row = named(sink.schema, entry.key, entry.value)
        topic = choose(Values(row, timestamp_ms=entry.timestamp_ms, record=entry))
        if not isinstance(topic, str) or topic not in sink.topics:
            raise RecordError(f'topic "{topic}" is not one of the topics of {sink.name}')
        return topic

    return compute
