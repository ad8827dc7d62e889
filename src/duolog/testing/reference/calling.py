"""Calls of users' functions with records, in the reference evaluator."""

from collections.abc import Sequence

from duolog.core.exception_text import describe_exception
from duolog.plan.nodes import ForEach
from duolog.serde.called_record import CalledRecord
from duolog.testing.reference.entries import Entry, Run, Stores, is_null
from duolog.testing.reference.scalars import RecordError


def called(node: ForEach) -> Run:
    """Return the function that calls the function of a node.

    Source: Kafka Streams `KStreamPeek`.
    """
    names = [column.name for column in node.schema.value]

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        key = None if is_null(entry.key) else entry.key
        value = None if entry.value is None else dict(zip(names, entry.value, strict=True))
        record = CalledRecord(
            key[0] if key is not None and len(key) == 1 else key,
            value,
            entry.timestamp_ms,
            tuple(entry.headers),
            *entry.place,
        )
        try:
            node.function(record)
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            message = describe_exception(error)
            raise RecordError(f"at {node}: {message}") from error
        return []

    return run
