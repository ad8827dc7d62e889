"""Topics that statements may read, but neither write nor delete.

    _duolog-ksql-…      of SQL services: statements, states, places, and topics of their queries
    __consumer_offsets, __transaction_state, __security, …     the broker's own
    _schemas                                                   the schema registry's

Without the command topic, or with a foreign record in it, a service cannot read its catalog.

Source: ksqlDB's `ksql.readonly.topics`.
"""

from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError

_PREFIX: Final = "_duolog-ksql-"
_NAMES: Final = frozenset(
    {
        "__cluster_metadata",
        "__consumer_offsets",
        "__security",
        "__share_group_state",
        "__transaction_state",
        "_schemas",
    }
)


def is_reserved(topic: str) -> bool:
    """Return whether statements may only read a topic.

    Example:
        >>> is_reserved("_duolog-ksql-default__command_topic"), is_reserved("orders")
        (True, False)
    """
    return topic.startswith(_PREFIX) or topic in _NAMES


def ensure_writable(topic: str) -> None:
    """Ensure that a statement may write a topic.

    Raises:
        SqlError: it may only read it.
    """
    if is_reserved(topic):
        raise SqlError(
            f"Cannot write to the reserved Kafka topic: {topic}",
            hint="Use a topic whose name has another prefix.",
        )


def deletable(source: SourceInfo | None) -> SourceInfo | None:
    """Return a source whose topic a statement may delete; None is none.

    Raises:
        SqlError: it may not.
    """
    for topic in () if source is None else source.topics:
        if is_reserved(topic):
            raise SqlError(
                f"Cannot delete the reserved Kafka topic: {topic}",
                hint="Drop the stream or table without DELETE TOPIC.",
            )
    return source
