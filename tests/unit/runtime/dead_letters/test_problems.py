"""Errors of replays say whether the last transaction was written."""

from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.dead_letters.replaying import Outcome, Replayer


@pytest.mark.parametrize(
    ("retriable", "told"), [(True, "may have been written"), (False, "was not written")]
)
def test_the_end_of_a_commit_that_times_out_is_unknown(*, retriable: bool, told: str) -> None:
    class Producer:
        def commit_transaction(self, _timeout: float) -> None:
            code = ClientError._TIMED_OUT if retriable else ClientError._STATE  # noqa: SLF001
            raise KafkaException(ClientError(code, "no answer", retriable=retriable))

        def __getattr__(self, _name: str) -> Any:
            return lambda *_, **__: 0

    replayer: Any = object.__new__(Replayer)
    replayer._producer, replayer._letters = Producer(), ("wrong", "id")  # noqa: SLF001
    replayer.replay_id, replayer._by = "r", ""  # noqa: SLF001

    with pytest.raises(KafkaError) as failed:
        replayer._commit([], 0, Outcome())  # noqa: SLF001

    assert told in failed.value.hint
