from concurrent.futures import Future
from typing import Any
from unittest.mock import MagicMock

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.persistent import ownership


def test_a_broker_that_does_not_answer_is_a_broker_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A running SQL file used to end with "error: " and no text if its broker was unavailable for half a minute."""
    silent: Future[Any] = Future()
    admin = MagicMock()
    admin.describe_consumer_groups.return_value = {"duolog-ksql-default_": silent}
    monkeypatch.setattr(ownership, "admin_of", lambda _brokers: admin)
    monkeypatch.setattr(ownership, "_TIMEOUT_S", 0.01)

    with pytest.raises(KafkaError, match="cannot ask for group"):
        ownership.owner_of("127.0.0.1:1", "default_")
