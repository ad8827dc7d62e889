"""Conversations about transactions; each uses transactional ids and topics of its own name.

Producer ids differ between two brokers, so the conversations show whether an id stayed the same.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import PRODUCE, batch, create_and_wait, new_topic
from duolog.protocol.encoder import encoder
from duolog.protocol.messages import entity_type

FIND, INIT, ADD, ADD_OFFSETS, END, OFFSETS, DESCRIBE, LIST = 10, 22, 24, 25, 26, 28, 65, 66
FETCH, LIST_OFFSETS = 1, 2
RETRIED: Final = {14, 15, 16, 51}


class Producer:
    """A transactional producer that sends given requests and retries retriable errors."""

    def __init__(self, client: WireClient, name: str) -> None:
        self.client = client
        self.name = name
        self.id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}

    def patiently(self, ask: Any) -> Any:
        """Retry while the coordinator is loading or completing a transaction."""
        deadline = time.monotonic() + 30
        while True:
            answer = ask()
            code = answer[0] if isinstance(answer, list) else answer
            if code not in RETRIED or time.monotonic() > deadline:
                return answer
            time.sleep(0.05)

    def init(
        self,
        version: int = 5,
        *,
        expected: tuple[int, int] = (-1, -1),
        timeout_ms: int = 60_000,
        wait: bool = True,
    ) -> Any:
        """Return the code, if the producer id is unchanged, and the epoch."""

        def ask() -> list[Any]:
            answer = self.client.ask(
                INIT,
                version,
                transactional_id=self.name,
                transaction_timeout=timeout_ms,
                producer_id=expected[0],
                producer_epoch=expected[1],
            )
            same = answer.producer_id == self.id
            if not answer.error_code:
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
                self.sequences.clear()
            return [answer.error_code, same, answer.producer_epoch]

        return self.patiently(ask) if wait else ask()

    def walk_to(self, epoch: int) -> None:
        """Request new epochs, many concurrently, until the producer has the given one."""
        fields = {"transactional_id": self.name, "transaction_timeout": 60_000}
        body = encoder(entity_type(INIT, 2, "request"))(fields)
        while self.epoch < epoch:
            count = min(500, epoch - self.epoch)
            for _ in range(count):
                self.client.send(INIT, 2, body)
            for _ in range(count):
                answer = self.client.receive(INIT, 2)
            self.epoch = int.from_bytes(answer[14:16])
        self.sequences.clear()

    def add(self, topic: str, *partitions: int, version: int = 3, **changes: int) -> Any:
        def ask() -> list[Any]:
            answer = self.client.ask(
                ADD,
                version,
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=changes.get("id", self.id),
                v3_and_below_producer_epoch=changes.get("epoch", self.epoch),
                v3_and_below_topics=[{"name": topic, "partitions": partitions}],
            )
            return sorted(
                row.partition_error_code
                for result in answer.results_by_topic_v3_and_below
                for row in result.results_by_partition
            )

        return self.patiently(ask)

    def named(self, **changes: Any) -> dict[str, Any]:
        return {
            "transactional_id": self.name,
            "producer_id": self.id,
            "producer_epoch": self.epoch,
            **changes,
        }

    def add_offsets(self, group: str, version: int = 4, **changes: Any) -> Any:
        named = self.named(**changes)
        return self.patiently(
            lambda: self.client.ask(ADD_OFFSETS, version, group_id=group, **named).error_code
        )

    def commit_offset(self, group: str, topic: str, version: int) -> Any:
        row = {
            "partition_index": 0,
            "committed_offset": 3,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }

        def ask() -> Any:
            answer = self.client.ask(
                OFFSETS,
                version,
                group_id=group,
                generation_id=-1,
                member_id="",
                topics=[{"name": topic, "partitions": [row]}],
                **self.named(),
            )
            return answer.topics[0].partitions[0].error_code

        return self.patiently(ask)

    def end(self, version: int, *, commit: bool, keep: bool = False, **changes: Any) -> Any:
        """Return code, unchanged producer id, and epoch; adopt id and epoch unless `keep`."""

        def ask() -> list[Any]:
            answer = self.client.ask(END, version, committed=commit, **self.named(**changes))
            if version < 5:
                return [answer.error_code]
            found = [answer.error_code, answer.producer_id == self.id, answer.producer_epoch]
            if not answer.error_code and not keep:
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
                self.sequences.clear()
            return found

        return self.patiently(ask)

    def write(self, topic: str, version: int, partition: int = 0, **changes: Any) -> Any:
        more: dict[str, Any] = {
            "producer_id": self.id,
            "producer_epoch": self.epoch,
            "base_sequence": self.sequences.get((topic, partition), 0),
            "transactional": True,
            **changes,
        }
        data = [{"index": partition, "records": batch(b"v", **more)}]

        def ask() -> Any:
            (row,) = self.client.ask(
                PRODUCE, version, transactional_id=self.name, acks=-1, timeout=5000,
                topic_data=[{"name": topic, "partition_data": data}],
            ).responses[0].partition_responses  # fmt: skip
            return row.error_code

        code = self.patiently(ask)
        if not code:
            self.sequences[topic, partition] = self.sequences.get((topic, partition), 0) + 1
        return code

    def state(self) -> Any:
        """Return the listing of the transaction once it has completed."""
        while True:
            answer = self.client.ask(LIST, 0, state_filters=[], producer_id_filters=[])
            (found,) = [
                row.transaction_state
                for row in answer.transaction_states
                if row.transactional_id == self.name
            ] or ["none"]
            if not found.startswith("Prepare"):
                return found
            time.sleep(0.05)


def ready(client: WireClient, name: str, partitions: int = 2) -> Producer:
    """Return a producer whose coordinator is ready, and a topic with its name."""
    create_and_wait(client, new_topic(name, partitions))
    producer = Producer(client, name)
    deadline = time.monotonic() + 30
    # Kafka creates the topics of its coordinators on the first lookup.
    for kind in (0, 1):
        while (
            client.ask(FIND, 4, key_type=kind, coordinator_keys=[name]).coordinators[0].error_code
        ):
            assert time.monotonic() < deadline, "there is no coordinator"
            time.sleep(0.1)
    return producer


def begun_producers(client: WireClient) -> Any:
    """InitProducerId in every version and order."""
    a = ready(client, "begin")
    reported = [a.init(version) for version in range(6)]
    reported += [a.init(version, expected=(a.id, a.epoch)) for version in (3, 4, 5)]
    reported += [a.init(version, expected=(a.id, a.epoch - 1)) for version in (3, 4, 5)]
    reported += [a.init(version, expected=(a.id, 0)) for version in (3, 4, 5)]
    reported += [a.init(version, expected=(a.id + 1, a.epoch)) for version in (3, 4, 5)]
    reported += [a.init(5, expected=(a.id, -1)), a.init(5, expected=(-1, 2))]
    reported += [a.init(5, timeout_ms=some) for some in (0, -5, 900_000, 900_001)]
    reported.append(Producer(client, "").init())
    reported.append(Producer(client, "begin_new").init(expected=(77, 3)))
    return reported


def added_partitions(client: WireClient) -> Any:
    a = ready(client, "add")
    before = a.add("add", 0, id=5, epoch=0)
    a.init()
    return (
        before,
        [a.add("add", 0, 7, version=version) for version in range(4)],
        [a.add("nope", 0, version=version) for version in range(4)],
        a.state(),
        [a.add("add", 0, version=version) for version in range(4)],
        [a.add("add", 1, version=version, epoch=9) for version in range(4)],
        [a.add("add", 1, version=version, id=999_999) for version in range(4)],
        [a.add_offsets("add", version) for version in range(5)],
        [a.add_offsets("add", version, producer_epoch=9) for version in range(5)],
        a.add_offsets("add", 4, producer_id=999_999),
        a.add_offsets("add", 4, transactional_id=""),
        Producer(client, "").add("add", 0),
        a.state(),
    )


def older_ends(client: WireClient) -> Any:
    """EndTxn before version 5, in every state."""
    a = ready(client, "older")
    reported: list[Any] = []
    for version in range(5):
        reported.append(a.init(version))
        reported += [a.end(version, commit=commit) for commit in (True, False)]
        for commit in (True, False):
            reported += [a.add("older", 0), a.write("older", 11), a.write("older", 11, 1)]
            reported.append(a.end(version, commit=commit, producer_epoch=99))
            reported.append(a.end(version, commit=commit, producer_id=a.id + 1))
            reported += [a.end(version, commit=commit), a.state()]
            reported += [a.end(version, commit=again) for again in (True, False)]
    reported.append(Producer(client, "older_nobody").end(4, commit=True))
    reported.append(Producer(client, "").end(4, commit=True))
    return reported


def newer_ends(client: WireClient) -> Any:
    """EndTxn 5 and batches that add their partition (KIP-890)."""
    a = ready(client, "newer")
    reported: list[Any] = [a.init(), a.end(5, commit=True), a.end(5, commit=False), a.state()]
    for commit in (True, False):
        reported += [a.write("newer", 12), a.write("newer", 12, 1), a.state()]
        before = a.epoch
        reported.append(a.end(5, commit=commit, producer_epoch=before - 1))
        reported.append(a.end(5, commit=commit, producer_epoch=before + 1))
        reported += [a.end(5, commit=commit), a.state()]
        reported += [
            a.end(5, commit=again, keep=True, producer_epoch=before)
            for again in (commit, not commit)
        ]
        reported.append(a.end(5, commit=commit, producer_epoch=before - 1))
        reported.append(a.write("newer", 12, producer_epoch=before))
        reported.append(a.end(5, commit=True))
        reported += [a.end(5, commit=False), a.state()]
    reported.append(a.end(5, commit=True, producer_id=a.id + 1))
    reported.append(a.end(5, commit=True, transactional_id=""))
    return reported


def fenced_producers(client: WireClient) -> Any:
    """A second producer with the same transactional id, before and in a transaction."""
    reported: list[Any] = []
    for version in (11, 12):
        name = f"fenced{version}"
        a, b = ready(client, name), Producer(client, name)
        end = 5 if version == 12 else 4
        reported += [a.init(), a.add(name, 0), a.write(name, version)]
        b.id = a.id
        reported += [b.init(wait=False), b.init()]
        reported += [a.write(name, version), a.add(name, 1), a.end(end, commit=True)]
        reported += [a.end(end, commit=False), a.init(expected=(a.id, a.epoch))]
        reported += [b.add(name, 0), b.write(name, version), b.end(end, commit=True), b.state()]
    return reported


def used_up_epochs(
    client: WireClient, advance: Callable[[Producer, int], None] = Producer.walk_to
) -> Any:
    """The epochs of a producer id are exhausted, and the producer continues with a new id.

    Using every epoch takes a minute; a test inside the broker's process passes a faster `advance`.
    """
    reported: list[Any] = []
    for name in ("used_by_end", "used_by_init", "used_by_fence"):
        a = ready(client, name)
        a.init()
        advance(a, 32_766)
        before = (a.id, a.epoch)
        if name == "used_by_end":
            reported += [a.write(name, 12), a.end(5, commit=True)]
            reported.append(
                a.end(5, commit=True, keep=True, producer_id=before[0], producer_epoch=before[1])
            )
            reported.append(
                a.end(5, commit=False, keep=True, producer_id=before[0], producer_epoch=before[1])
            )
            reported += [a.write(name, 12), a.end(5, commit=False), a.state()]
        elif name == "used_by_init":
            reported += [a.init(expected=before), a.init(expected=before), a.init()]
        else:
            reported += [a.add(name, 0), a.init(wait=False)[0], a.init()[0], a.state()]
            reported.append(a.id != before[0])
    return reported


# The answers of Apache Kafka 4.1.2 in this conversation.
USED_UP_EPOCHS: Final = [
    *(0, [0, False, 0], [0, True, 0], [48, False, -1], 0, [0, True, 1], "CompleteAbort"),
    *([0, False, 0], [0, True, 0], [0, True, 1]),
    *([0], 51, 0, "Empty", True),
]


def offsets_in_transactions(client: WireClient) -> Any:
    reported: list[Any] = []
    a = ready(client, "offsets")
    a.init()
    for version in range(5):
        group = f"offsets{version}"
        reported += [a.commit_offset(group, "offsets", version), a.add_offsets(group)]
        reported += [a.commit_offset(group, "offsets", version), a.end(4, commit=True), a.state()]
    reported += [a.commit_offset("offsets5", "offsets", 5), a.end(5, commit=True), a.state()]
    a.epoch -= 1
    reported += [a.commit_offset("offsets5", "offsets", version) for version in (3, 4, 5)]
    a.epoch += 1
    a.id += 1
    reported += [a.commit_offset("offsets5", "offsets", version) for version in (3, 4, 5)]
    return reported


def refused_batches(client: WireClient) -> Any:
    """Transactional batches of producers that are not in the transaction."""
    a = ready(client, "refused")
    a.init()
    reported = [[a.write("refused", version) for version in (9, 10, 11)]]
    reported += [
        [
            a.write("refused", version, producer_epoch=9),
            a.write("refused", version, producer_id=a.id + 1),
            a.write("refused", version, producer_id=a.id + 1, producer_epoch=9),
        ]
        for version in (9, 10, 11, 12)
    ]
    a.add("refused", 0)
    reported.append([a.write("refused", 9), a.write("refused", 9, 1), a.write("refused", 12, 1)])
    reported.append([a.write("refused", 12, producer_epoch=9), a.end(5, commit=True)])
    return reported


def listed_transactions(client: WireClient) -> Any:
    a, b = ready(client, "listed_a"), ready(client, "listed_b")
    a.init()
    a.add("listed_a", 0)
    b.init()

    def listed(version: int, **asked: Any) -> Any:
        fields = {"state_filters": [], "producer_id_filters": [], **asked}
        answer = client.ask(LIST, version, **fields)
        rows = sorted(
            (row.transactional_id, row.transaction_state)
            for row in answer.transaction_states
            if row.transactional_id.startswith("listed")
        )
        return answer.error_code, sorted(answer.unknown_state_filters), rows

    return (
        [listed(version) for version in range(3)],
        [listed(0, state_filters=names) for names in
         (["Ongoing"], ["Empty", "Ongoing"], ["Nope"], ["Nope", "Empty"], ["Dead"],
          ["PrepareEpochFence"], ["ongoing"])],
        [listed(0, producer_id_filters=ids) for ids in ([a.id], [a.id, b.id], [-1])],
        [listed(1, duration_filter=ms) for ms in (-1, 0, 3_600_000)],
        [listed(2, transactional_id_pattern=text) for text in
         ("listed_a", "listed", "listed.*", ".*_b", "", None, "(", "[")],
        _described(client, a, "listed_a", "listed_nobody", ""),
    )  # fmt: skip


def _described(client: WireClient, producer: Producer, *names: str) -> Any:
    answer = client.ask(DESCRIBE, 0, transactional_ids=names)
    return [
        (
            row.transactional_id,
            row.error_code,
            row.transaction_state,
            row.transaction_timeout.total_seconds(),
            # An error has the id 0, which is also that of a broker's first producer.
            row.error_code == 0 and row.producer_id == producer.id,
            row.producer_epoch,
            [(topic.topic, topic.partitions) for topic in row.topics],
        )
        for row in answer.transaction_states
    ]


def features(client: WireClient) -> Any:
    """Finalized features that both brokers have."""
    ours = {"group.version", "transaction.version"}
    reported = []
    for version in (3, 4):
        answer = client.ask(18, version, client_software_name="a", client_software_version="1")
        reported.append([
            sorted((row.name, row.min_version, row.max_version)
                   for row in answer.supported_features if row.name in ours),
            sorted((row.name, row.min_version_level, row.max_version_level)
                   for row in answer.finalized_features if row.name in ours),
        ])  # fmt: skip
    return reported
