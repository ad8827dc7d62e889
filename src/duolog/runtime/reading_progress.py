"""The progress of a consumer that reads a topic to its end: the offset reached, and stalls."""

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message


def offset_after(message: Message) -> int | None:
    """Return the offset after a message; None for an error that passes.

    Raises:
        KafkaException: it is an error that the client does not recover from.
    """
    error = message.error()
    if error is None:
        return (message.offset() or 0) + 1
    if error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own codes
        return message.offset() or 0
    if error.code() in (ClientError._TRANSPORT, ClientError._ALL_BROKERS_DOWN):  # noqa: SLF001
        return None
    raise KafkaException(error)


def ensure_moving(still_s: float, most_s: float) -> None:
    """Ensure that a reader has got a record within `most_s` seconds.

    Raises:
        KafkaException: it has not.
    """
    if still_s > most_s:
        raise KafkaException(ClientError(ClientError.REQUEST_TIMED_OUT, "no record arrives"))
