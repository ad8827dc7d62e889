"""A producer id whose epochs are used up: Kafka's observed answers, without the walk to its last epoch.

`tests/conformance/kafka/test_differential.py --deep` runs the same requests against both brokers.
"""

from dataclasses import replace
from typing import Any

from conformance.kafka.transaction_conversations import (
    USED_UP_EPOCHS,
    Producer,
    used_up_epochs,
)
from duolog.coordinator.transactions.records import TransactionChange
from unit.broker.conftest import Harness
from unit.broker.transactional_producer import coordinate


def test_a_producer_with_exhausted_epochs_continues_as_in_kafka(harness: Harness) -> None:
    coordinate(harness)
    transactions = harness.broker.transactions

    def advance(producer: Producer, epoch: int) -> None:
        before_last = replace(transactions.describe(producer.name), producer_epoch=epoch - 1)
        transactions._coordinator.replay(TransactionChange(producer.name, before_last))  # noqa: SLF001
        producer.init()
        assert producer.epoch == epoch

    client: Any = harness.client()

    assert used_up_epochs(client, advance) == USED_UP_EPOCHS
