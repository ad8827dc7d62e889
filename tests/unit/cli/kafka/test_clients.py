import pytest
from confluent_kafka import KafkaError

from duolog.cli.kafka.clients import as_kafka_error


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (KafkaError._MSG_TIMED_OUT, "its log says why it cannot write (a full disk"),  # noqa: SLF001
        (KafkaError._TRANSPORT, "Check that a broker is running at b:1."),  # noqa: SLF001
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "kafka-acls.sh"),
        (KafkaError.INVALID_CONFIG, ""),
    ],
)
def test_the_hint_depends_on_the_error_of_the_client(code: int, message: str) -> None:
    """A broker that was there, with a full disk, was looked for."""
    error = as_kafka_error(KafkaError(code), 'write to topic "t"', "b:1")

    assert message in error.hint
    assert bool(message) == bool(error.hint)
