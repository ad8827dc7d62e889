"""Helpers for tests of the transaction APIs with a harness: a producer with a transactional id."""

from typing import Any

from duolog.coordinator.transactions.records import TransactionRecord
from duolog.coordinator.transactions.transitions import Producer
from duolog.record.batch import whole_batches
from duolog.record.control import decode_marker
from duolog.record.records import BatchProducer, decode_records
from unit.broker.conftest import Client, Harness

PRODUCE, INIT, ADD, ADD_OFFSETS, END, OFFSET_COMMIT = 0, 22, 24, 25, 26, 28
DESCRIBE, LIST = 65, 66
NOBODY = Producer(-1, -1)


def coordinate(harness: Harness) -> Harness:
    """Start the coordinators of a harness's broker."""
    harness.broker.groups.start()
    harness.broker.transactions.start()
    harness.turn()
    return harness


class TransactionalProducer:
    """Speaks the APIs of transactions in any version, one request after the other."""

    def __init__(
        self, harness: Harness, transactional_id: str = "tx", *, bumping: bool = True
    ) -> None:
        self.harness = harness
        self.client: Client = harness.client()
        self.transactional_id = transactional_id
        self.bumping = bumping
        self.me = NOBODY
        self.sequences: dict[tuple[Producer, str, int], int] = {}

    def init(
        self, version: int = 5, *, expected: Producer = NOBODY, timeout_ms: int = 60_000
    ) -> Any:
        answer = self.client.ask(
            INIT,
            version,
            transactional_id=self.transactional_id,
            transaction_timeout=timeout_ms,
            producer_id=expected.producer_id,
            producer_epoch=expected.epoch,
        )
        if not answer.error_code:
            self.me = Producer(answer.producer_id, answer.producer_epoch)
        return answer

    def add(self, *partitions: int, topic: str = "t", version: int = 3) -> Any:
        """Add partitions; return their codes."""
        answer = self.client.ask(
            ADD,
            version,
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.me.producer_id,
            v3_and_below_producer_epoch=self.me.epoch,
            v3_and_below_topics=[{"name": topic, "partitions": partitions}],
        )
        return [
            row.partition_error_code
            for result in answer.results_by_topic_v3_and_below
            for row in result.results_by_partition
        ]

    def add_offsets(self, group_id: str, version: int = 4) -> int:
        code: int = self.client.ask(
            ADD_OFFSETS, version, group_id=group_id, **self._names()
        ).error_code
        return code

    def commit_offset(self, group_id: str, offset: int, version: int | None = None) -> int:
        row = {
            "partition_index": 0,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        answer = self.client.ask(
            OFFSET_COMMIT,
            version or (5 if self.bumping else 3),
            group_id=group_id,
            generation_id=-1,
            member_id="",
            topics=[{"name": "t", "partitions": [row]}],
            **self._names(),
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def write(self, *values: bytes, partition: int = 0, topic: str = "t") -> Any:
        """Produce a batch into the transaction; return what its partition answers."""
        key = (self.me, topic, partition)
        sequence = self.sequences.get(key, 0)
        batch = self.harness.batch(
            *values,
            producer=BatchProducer(
                self.me.producer_id, self.me.epoch, sequence, transactional=True
            ),
        )
        data = [{"index": partition, "records": batch}]
        answer = self.client.ask(
            PRODUCE,
            12 if self.bumping else 11,
            transactional_id=self.transactional_id,
            acks=-1,
            timeout=1000,
            topic_data=[{"name": topic, "partition_data": data}],
        )
        result = answer.responses[0].partition_responses[0]
        if not result.error_code:
            self.sequences[key] = sequence + len(values)
        return result

    def end(self, *, commit: bool, version: int | None = None) -> Any:
        version = (5 if self.bumping else 4) if version is None else version
        answer = self.client.ask(END, version, committed=commit, **self._names())
        if version >= 5 and not answer.error_code:
            self.me = Producer(answer.producer_id, answer.producer_epoch)
        return answer

    def describe(self) -> Any:
        answer = self.client.ask(DESCRIBE, 0, transactional_ids=[self.transactional_id])
        return answer.transaction_states[0]

    @property
    def record(self) -> TransactionRecord:
        """The coordinator's record; kio cannot read an answer without a start time."""
        record: TransactionRecord = self.harness.broker.transactions.describe(self.transactional_id)
        return record

    def _names(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.me.producer_id,
            "producer_epoch": self.me.epoch,
        }


def committed(harness: Harness, topic: str = "t", partition: int = 0) -> list[bytes]:
    """Return the values that a read_committed consumer sees, up to the last stable offset."""
    client = harness.client()
    seen: list[bytes] = []
    offset = 0
    while True:
        found = client.fetch(topic, offset, partition=partition, committed=True)
        assert not found.error_code, found
        if not found.records:
            return seen
        offset = _read(found, seen, offset)


def _read(found: Any, seen: list[bytes], offset: int) -> int:
    # As a consumer does: an aborted producer's batches are left out from the first offset that
    # the answer names, up to its marker.
    aborted = sorted(
        (row.first_offset, row.producer_id) for row in found.aborted_transactions or ()
    )
    hidden: set[int] = set()
    for header, batch in whole_batches(found.records):
        while aborted and aborted[0][0] <= header.last_offset:
            hidden.add(aborted.pop(0)[1])
        if header.control:
            marker = decode_marker(batch)
            if marker is not None and not marker.commit:
                hidden.discard(header.producer_id)
        elif not header.transactional or header.producer_id not in hidden:
            seen += (r.value or b"" for r in decode_records(batch) if r.offset >= offset)
        end = header.next_offset
    return end
