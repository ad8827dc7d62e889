import threading
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.sql.persistent import ownership
from waiting import DEADLINE_S


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


def test_an_engine_that_cannot_ask_for_the_owner_leaves_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its member would become the owner, and each later attempt of the process would be refused."""
    left = threading.Event()

    def stay(member: ownership.Ownership) -> None:
        member._closing.wait(DEADLINE_S)  # noqa: SLF001 - in place of its consumer
        left.set()

    def fail(_brokers: object, _service_id: str) -> str:
        raise KafkaError("cannot ask for group", code=7)

    monkeypatch.setattr(ownership.Ownership, "_run", stay)
    monkeypatch.setattr(ownership, "owner_of", fail)
    monkeypatch.setattr(ownership, "_ASK_S", 0.0)

    with pytest.raises(KafkaError, match="cannot ask for group"):
        ownership.Ownership("127.0.0.1:1", "default_", "commands", lambda: None).acquire()

    assert left.wait(DEADLINE_S / 2)
