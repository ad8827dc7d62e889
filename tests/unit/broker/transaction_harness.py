"""Helpers for tests of transactions with a harness: batches, markers, and a simulated coordinator."""

from typing import Any

from duolog.broker.transactions.markers import EndedTransaction, append_marker
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.record.records import BatchProducer


class FakeTransactions:
    """Knows which partitions are in which transaction because a test said so."""

    def __init__(self) -> None:
        self.ongoing: set[tuple[str, int, int, str, int]] = set()
        self.added: list[tuple[str, int]] = []
        self.error: int = ErrorCode.NONE

    def stop(self) -> None:
        pass

    def add(self, producer_id: int, topic: str, partition: int = 0, *, epoch: int = 0) -> None:
        self.ongoing.add((f"t{producer_id}", producer_id, epoch, topic, partition))

    def verify_produce(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        topic: str,
        partition: int,
        *,
        implicit: bool,
    ) -> None:
        if self.error != ErrorCode.NONE:
            raise KafkaError("the coordinator says no", code=self.error)
        if (transactional_id, producer_id, producer_epoch, topic, partition) in self.ongoing:
            return
        if not implicit:
            raise KafkaError("not in the transaction", code=ErrorCode.INVALID_TXN_STATE)
        self.added.append((topic, partition))


class Transactional:
    """A harness with a topic and a fake coordinator; producer 7 has the id t7."""

    def __init__(
        self, harness: Any, topic: str = "orders", partitions: int = 1, **configs: str
    ) -> None:
        self.harness = harness
        self.topic = topic
        self.coordinator = harness.broker.transactions = FakeTransactions()
        harness.topic(topic, partitions, **configs)
        self.client = harness.client()
        self._sequences: dict[tuple[int, int], int] = {}

    @property
    def log(self) -> Any:
        return self.harness.broker.log(self.topic, 0)

    def batch(self, producer_id: int, *values: bytes, epoch: int = 0, partition: int = 0) -> bytes:
        sequence = self._sequences.get((producer_id, partition), 0)
        self._sequences[producer_id, partition] = sequence + len(values)
        batch: bytes = self.harness.batch(
            *values,
            producer=BatchProducer(producer_id, epoch, sequence, transactional=True),
        )
        return batch

    def send(self, batch: bytes, *, version: int = 12, producer_id: int | None = 7) -> Any:
        """Produce one batch; return what its partition answers."""
        data = [{"index": 0, "records": batch}]
        answer = self.client.ask(
            0,
            version,
            transactional_id=None if producer_id is None else f"t{producer_id}",
            acks=-1,
            timeout=1000,
            topic_data=[{"name": self.topic, "partition_data": data}],
        )
        return answer.responses[0].partition_responses[0]

    def write(self, producer_id: int, *values: bytes) -> int:
        """Produce into the transaction of a producer; return the offset."""
        answer = self.send(self.batch(producer_id, *values), producer_id=producer_id)
        assert answer.error_code == ErrorCode.NONE
        offset: int = answer.base_offset
        return offset

    def end(self, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
        """Append a marker and turn until it is durable."""
        done: list[Exception | None] = []
        ended = EndedTransaction(producer_id, epoch, commit, 0)
        append_marker(self.harness.broker, self.topic, 0, ended, done.append)
        while not done:
            self.harness.turn()
        assert done == [None]

    def fetch(self, offset: int, **more: Any) -> Any:
        """Fetch with read_committed; return what the partition answers."""
        return self.client.fetch(self.topic, offset, committed=True, **more)
