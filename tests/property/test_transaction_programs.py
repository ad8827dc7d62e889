"""Random programs of transactional producers, time, slow disks and crashes against a whole broker.

Every record names its transaction. A read_committed consumer sees at the end:

- a transaction whose commit was answered: all of its records, and its offset;
- one whose abort was answered, or that its producer left: nothing;
- one whose outcome is unknown: all of it or nothing, in every partition alike;
- no transaction is open, in a log or in the coordinator, once its timeout has passed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.transactions.transitions import Producer
from duolog.record.records import BatchProducer
from fault.crash_broker import PARTITIONS, TIMEOUT_MS, CrashBroker, opened
from unit.broker.conftest import Client
from unit.broker.transactional_producer import (
    ADD,
    ADD_OFFSETS,
    END,
    INIT,
    NOBODY,
    OFFSET_COMMIT,
    PRODUCE,
)

AGAIN = {7, 14, 15, 16, 19, 51}
"""Codes after which a client sends the same again."""


@dataclass
class Transaction:
    """The records of one transaction, and the outcome that its producer was given."""

    name: bytes
    partitions: set[int] = field(default_factory=set)
    values: dict[int, list[bytes]] = field(default_factory=dict)
    offset: int = -1
    asked: bool | None = None
    """The outcome that was asked for, if any."""
    reported: bool = False
    """Whether the end was answered."""


@dataclass(eq=False)
class Worker:
    """A process with a transactional id, of either flow; it may die and another takes its place."""

    name: str
    bumping: bool
    client: Client | None = None
    me: Producer = NOBODY
    sequences: dict[int, int] = field(default_factory=dict)
    transaction: Transaction | None = None
    waiting: tuple[int, int, dict[str, Any]] | None = None
    """The request that is not answered yet: key, version, fields."""
    then: Any = None


class World:
    """Workers, a broker and its clock, driven by one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  A seed that can be run again.
        self.broker: CrashBroker = opened()
        self.workers = [Worker(f"tx{n % 3}", bumping=n != 1) for n in range(4)]
        self.transactions: list[Transaction] = []
        self.seen: Counter[str] = Counter()

    def run(self, steps: int) -> None:
        what = [
            self.act,
            self.turn,
            self.round,
            self.sync,
            self.time_passes,
            self.end_producer,
            self.cut,
        ]
        try:
            self.do(what, steps)
        finally:
            self.broker.leave()

    def do(self, what: list[Callable[[], None]], steps: int) -> None:
        for _ in range(steps):
            (step,) = self.random.choices(what, [60, 40, 10, 10, 1, 0.5, 0.6])
            step()
        self.check_history()

    # What happens

    def act(self) -> None:
        worker = self.random.choice(self.workers)
        if worker.waiting is not None:
            self.listen(worker)
        elif worker.me.epoch < 0:
            self.begin(worker)
        elif worker.transaction is None:
            self.new_transaction(worker)
        else:
            self.random.choice([self.write, self.write, self.commit_offset, self.end])(worker)

    def turn(self) -> None:
        self.broker.turn()
        self.restart_broker()

    def round(self) -> None:
        self.broker.round()

    def sync(self) -> None:
        self.broker.sync()
        self.restart_broker()

    def time_passes(self) -> None:
        self.broker.clock.advance(ms=self.random.choice([10, 1001, TIMEOUT_MS]))

    def end_producer(self) -> None:
        """End a producer's process; the next one of its name starts again."""
        worker = self.random.choice(self.workers)
        self.forget(worker)
        worker.waiting = worker.client = None
        self.seen["died"] += 1

    def cut(self) -> None:
        self.broker.disk.power_off_after(operations=self.random.randint(0, 8))

    def restart_broker(self) -> None:
        """Start the broker again if the power went; workers connect and ask again, or die."""
        if not self.broker.dead:
            return
        self.seen["crashed"] += 1
        power = self.random.random() < 0.7
        self.broker = self.broker.crashed(self.random.randrange(1 << 30) if power else None)
        for worker in self.workers:
            worker.client = None
            if worker.waiting is None:
                continue
            if self.random.random() < 0.2:
                worker.waiting = None
                self.forget(worker)
            else:
                self.send(worker)

    # What a producer does

    def begin(self, worker: Worker) -> None:
        fields = {
            "transactional_id": worker.name,
            "transaction_timeout": TIMEOUT_MS,
            "producer_id": -1,
            "producer_epoch": -1,
        }

        def then(answer: Any) -> None:
            worker.me = Producer(answer.producer_id, answer.producer_epoch)
            worker.sequences.clear()

        self.ask(worker, INIT, 5, fields, then)

    def new_transaction(self, worker: Worker) -> None:
        name = b"%d" % len(self.transactions)
        worker.transaction = Transaction(name)
        self.transactions.append(worker.transaction)

    def write(self, worker: Worker) -> None:
        transaction = worker.transaction
        assert transaction is not None
        partition = self.random.randrange(PARTITIONS)
        if not worker.bumping and partition not in transaction.partitions:
            self.add(worker, partition)
            return
        sequence = worker.sequences.get(partition, 0)
        value = b"%s:%d:%d" % (transaction.name, partition, sequence)
        batch = self.broker.batch(
            value,
            producer=BatchProducer(
                worker.me.producer_id, worker.me.epoch, sequence, transactional=True
            ),
        )
        data = [{"index": partition, "records": batch}]
        fields = {
            "transactional_id": worker.name,
            "acks": -1,
            "timeout": 1000,
            "topic_data": [{"name": "t", "partition_data": data}],
        }

        def then(_: Any) -> None:
            worker.sequences[partition] = sequence + 1
            transaction.values.setdefault(partition, []).append(value)

        self.ask(worker, PRODUCE, 12 if worker.bumping else 11, fields, then)

    def add(self, worker: Worker, partition: int) -> None:
        transaction = worker.transaction
        assert transaction is not None
        fields = {
            "v3_and_below_transactional_id": worker.name,
            "v3_and_below_producer_id": worker.me.producer_id,
            "v3_and_below_producer_epoch": worker.me.epoch,
            "v3_and_below_topics": [{"name": "t", "partitions": [partition]}],
        }
        self.ask(worker, ADD, 3, fields, lambda _: transaction.partitions.add(partition))

    def commit_offset(self, worker: Worker) -> None:
        transaction = worker.transaction
        assert transaction is not None
        if not worker.bumping and PARTITIONS not in transaction.partitions:
            fields = {"group_id": worker.name, **named(worker)}
            self.ask(
                worker, ADD_OFFSETS, 3, fields, lambda _: transaction.partitions.add(PARTITIONS)
            )
            return
        offset = int(transaction.name)
        row = {
            "partition_index": 0,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        fields = {
            "group_id": worker.name,
            "generation_id": -1,
            "member_id": "",
            "topics": [{"name": "t", "partitions": [row]}],
            **named(worker),
        }

        def then(_: Any) -> None:
            transaction.offset = offset

        self.ask(worker, OFFSET_COMMIT, 5 if worker.bumping else 3, fields, then)

    def end(self, worker: Worker) -> None:
        transaction = worker.transaction
        assert transaction is not None
        if not transaction.values and transaction.offset < 0:
            return
        commit = self.random.random() < 0.7
        transaction.asked = commit
        fields = {**named(worker), "committed": commit}

        def then(answer: Any) -> None:
            transaction.reported = True
            worker.transaction = None
            self.seen["committed" if commit else "aborted"] += 1
            if worker.bumping:
                worker.me = Producer(answer.producer_id, answer.producer_epoch)
                worker.sequences.clear()

        self.ask(worker, END, 5 if worker.bumping else 4, fields, then)

    # Requests

    def ask(self, worker: Worker, key: int, version: int, fields: Any, then: Any) -> None:
        worker.waiting, worker.then = (key, version, fields), then
        self.send(worker)

    def send(self, worker: Worker) -> None:
        if worker.client is None:
            worker.client = self.broker.client()
        assert worker.waiting is not None
        key, version, fields = worker.waiting
        worker.client.send(key, version, **fields)

    def listen(self, worker: Worker) -> None:
        assert worker.client is not None
        answer = worker.client._take()  # noqa: SLF001
        if answer is None:
            return
        code = code_of(answer)
        if code in AGAIN:
            self.seen["again"] += 1
            self.send(worker)
            return
        worker.waiting = None
        if code == 0:
            worker.then(answer)
            return
        # It is fenced, or its transaction was aborted for it: start again.
        self.seen["refused"] += 1
        self.forget(worker)

    def forget(self, worker: Worker) -> None:
        worker.me = NOBODY
        worker.transaction = None

    # What must hold

    def check_history(self) -> None:
        self.broker.disk.power_off_after(operations=1 << 30)
        self.broker.settle()
        if self.broker.dead:
            self.restart_broker()
        self.broker.pass_timeouts()
        assert self.broker.hanging() == []
        visible = self.broker.visible()
        partition_of = {
            value: partition for partition, values in enumerate(visible) for value in values
        }
        assert sum(map(len, visible)) == len(partition_of), "a record is there twice"
        kept = [self.outcome(transaction, visible) for transaction in self.transactions]
        names = {value.split(b":")[0] for value in partition_of}
        assert names <= {
            t.name for t, all_there in zip(self.transactions, kept, strict=True) if all_there
        }

    def outcome(self, transaction: Transaction, visible: list[list[bytes]]) -> bool:
        """Check one transaction; return whether it is committed."""
        prefix = transaction.name + b":"
        found = {
            partition: values
            for partition, all_values in enumerate(visible)
            if (values := [value for value in all_values if value.startswith(prefix)])
        }
        if transaction.asked and transaction.reported:
            assert found == transaction.values, transaction
        elif transaction.asked:
            assert found in ({}, transaction.values), transaction
        else:
            assert found == {}, transaction
        return bool(found)


def named(worker: Worker) -> dict[str, Any]:
    return {
        "transactional_id": worker.name,
        "producer_id": worker.me.producer_id,
        "producer_epoch": worker.me.epoch,
    }


def code_of(answer: Any) -> int:
    """Return the one code of an answer about one thing."""
    if hasattr(answer, "responses"):
        code: int = answer.responses[0].partition_responses[0].error_code
    elif hasattr(answer, "results_by_topic_v3_and_below"):
        (topic,) = answer.results_by_topic_v3_and_below
        code = topic.results_by_partition[0].partition_error_code
    elif hasattr(answer, "topics"):
        code = answer.topics[0].partitions[0].error_code
    else:
        code = answer.error_code
    return code


@given(seed=st.integers(0, 2**32))
def test_no_program_leaves_half_a_transaction_or_one_that_hangs(seed: int) -> None:
    World(seed).run(steps=400)


def test_random_programs_reach_every_case() -> None:
    """A property that nothing ever tries is worth nothing."""
    seen: Counter[str] = Counter()
    for seed in range(15):
        world = World(seed)
        world.run(steps=400)
        seen += world.seen

    assert seen["committed"] > 30, seen
    assert min(seen[what] for what in ("aborted", "crashed", "refused", "again", "died")) > 5, seen
