from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.sql.persistent import ownership


def test_a_broker_that_does_not_answer_is_a_broker_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A running SQL file used to end with "error: " and no text if its broker was unavailable for half a minute."""
    admin = MagicMock()
    timed_out = ClientError(ClientError._TIMED_OUT)  # noqa: SLF001 - librdkafka's own codes have this form
    admin.list_groups.side_effect = KafkaException(timed_out)
    monkeypatch.setattr(ownership, "admin_of", lambda _brokers: admin)

    with pytest.raises(KafkaError, match="cannot ask for group"):
        ownership.owner_of("127.0.0.1:1", "default_")
