"""Build the topology whose results `history` checks: each event passes, each is counted, and accounts are summed by branch.

    events (number ─▶ account, amount) ─┬──────────────────────────────────────────▶ passed
                                        └─▶ by account ─▶ count, sum ─┬────────────▶ counted
    owners (account ─▶ branch) ──────────────────────────── join ─────┴▶ by branch ─▶ branches   (with undo)

The owners are written before the first event, and never change: with a record cache, the result of a
join with a row that is still in the cache depends, as in Kafka Streams, on which side came first.

Several applications run it in one JVM on the same two topics, each into result topics of its own:
in micro-batches with the record cache and without it, and in real time.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog import Topology, count, sum_
from duolog.runtime.application import Mode
from fault.history import Counted, Event, Passed

PARTITIONS: Final = 2
ACCOUNTS: Final = 30
BRANCHES: Final = ("north", "east", "south", "west")
SINKS: Final = ("passed", "counted", "branches")
TIMEOUT_S: Final = 60.0
_STEP_S: Final = 0.05


class Run(NamedTuple):
    """An application of the ledger: how it runs, and what its readers may expect."""

    name: str
    mode: Mode
    settings: Mapping[str, str]
    every_update: bool = True
    exactly_once: bool = True


_ONCE: Final = {"processing.guarantee": "exactly_once_v2"}
_EACH: Final = {"statestore.cache.max.bytes": "0"}
RUNS: Final = {
    run.name: run
    for run in (
        Run("cached", "micro-batch", _ONCE, every_update=False),
        Run("each", "micro-batch", _ONCE | _EACH),
        # What a start finds is read in micro-batches first, which have a cache too.
        Run("live", "real-time", _ONCE | _EACH),
        Run("least", "micro-batch", _EACH, exactly_once=False),
        Run("least-live", "real-time", _EACH | {"epoch.ms": "2000"}, exactly_once=False),
    )
}
ONCE: Final = tuple(name for name, run in RUNS.items() if run.exactly_once)
LEAST: Final = tuple(name for name, run in RUNS.items() if not run.exactly_once)


def topology(prefix: str, name: str) -> Topology:
    """Return the topology of an application; the source topics begin with `prefix`, the results with its name too."""
    made = Topology(f"{prefix}{name}")
    events = made.stream(
        f"{prefix}events", key="number STRING", value="account STRING, amount BIGINT"
    )
    owners = made.table(f"{prefix}owners", key="account STRING", value="branch STRING")
    events.to(f"{prefix}{name}-passed")
    counted = events.group_by("account").aggregate(n=count(), total=sum_("amount"))
    counted.to(f"{prefix}{name}-counted")
    joined = counted.join(owners)
    branches = joined.group_by("branch").aggregate(
        accounts=count(), events=sum_("n"), total=sum_("total")
    )
    branches.to(f"{prefix}{name}-branches")
    return made


def branch_of(account: int) -> str:
    return BRANCHES[account % len(BRANCHES)]


def replayed(events: Iterable[Event]) -> dict[str, object]:
    """Return the rows of the branches, computed from all events at once."""
    amounts: dict[int, list[int]] = {}
    for event in events:
        amounts.setdefault(int(event.account[1:]), []).append(event.amount)
    rows: dict[str, dict[str, int]] = {}
    for account, of_account in amounts.items():
        row = rows.setdefault(branch_of(account), {"accounts": 0, "events": 0, "total": 0})
        row["accounts"] += 1
        row["events"] += len(of_account)
        row["total"] += sum(of_account)
    return dict(rows)


class Flow:
    """Writes events in a thread, from `start` until `stop`, over deaths of the broker too."""

    def __init__(self, servers: str, prefix: str, seed: int, per_second: int) -> None:
        self.acknowledged: set[int] = set()
        self.sent = 0
        self._prefix = prefix
        self._random = Random(seed)  # noqa: S311 - a seed that can be run again
        self._per_second = per_second
        self._servers = servers
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "message.timeout.ms": int(5 * TIMEOUT_S * 1000),
                "reconnect.backoff.max.ms": 200,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(TIMEOUT_S)

    def create_topics(self) -> None:
        """Make the source topics, and give each account a branch."""
        admin = AdminClient({"bootstrap.servers": self._servers})
        names = [f"{self._prefix}{name}" for name in ("events", "owners")]
        for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
            made.result(TIMEOUT_S)
        for number in range(ACCOUNTS):
            self._producer.produce(
                f"{self._prefix}owners", json.dumps({"branch": branch_of(number)}), f"a{number}"
            )
        assert self._producer.flush(TIMEOUT_S) == 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the flow; all that was sent is acknowledged then."""
        self._ended.set()
        self._thread.join(TIMEOUT_S)
        assert self._producer.flush(TIMEOUT_S) == 0
        assert len(self.acknowledged) == self.sent, "the broker did not take all events"

    def _run(self) -> None:
        began = time.monotonic()
        while not self._ended.wait(_STEP_S):
            while self.sent < (time.monotonic() - began) * self._per_second:
                self._send()
            self._producer.poll(0)

    def _send(self) -> None:
        number = self.sent
        account = f"a{self._random.randrange(ACCOUNTS)}"
        value = {"account": account, "amount": self._random.randrange(1, 10_000)}

        def on_delivery(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.acknowledged.add(number)

        self._producer.produce(
            f"{self._prefix}events", json.dumps(value), str(number), on_delivery=on_delivery
        )
        self.sent += 1


class Topics:
    """Read the current content of a ledger's topics with read_committed consumers."""

    def __init__(self, servers: str, prefix: str) -> None:
        self._servers = servers
        self._prefix = prefix

    def events(self) -> list[Event]:
        return [
            Event(int(_text(found.key())), **_row(found), partition=place[0], offset=place[1])
            for place, found in self._read("events")
        ]

    def passed(self, name: str) -> list[Passed]:
        return [
            Passed(int(_text(found.key())), **_row(found), partition=place[0], offset=place[1])
            for place, found in self._read(f"{name}-passed")
        ]

    def counted(self, name: str) -> list[Counted]:
        return [
            Counted(_text(found.key()), row["n"], row["total"], *place)
            for place, found in self._read(f"{name}-counted")
            for row in [_row(found)]
        ]

    def branches(self, name: str) -> dict[str, object]:
        """Return the last row of each branch that has accounts."""
        found = {_text(found.key()): _row(found) for _, found in self._read(f"{name}-branches")}
        return {branch: row for branch, row in found.items() if row["accounts"]}

    def marked(self, name: str) -> int:
        """Return the epoch whose results were committed last; -1 before one."""
        marker = -1
        for _, found in self._read(f"{name}-epochs", partitions=1):
            if _text(found.key()) == "epoch":
                marker = _row(found)["epoch"]
        return marker

    def aborted(self, name: str) -> int:
        """Return how many results only readers see that ask for uncommitted ones too."""
        return sum(
            sum(1 for _ in self._read(f"{name}-{sink}", isolation_level="read_uncommitted"))
            - sum(1 for _ in self._read(f"{name}-{sink}"))
            for sink in SINKS
        )

    def _read(
        self,
        topic: str,
        *,
        isolation_level: str = "read_committed",
        partitions: int = PARTITIONS,
    ) -> Iterator[tuple[tuple[int, int], Message]]:
        """Yield partition and offset with each record, up to where each partition ends for such a reader.

        Returns nothing if the topic does not exist yet.
        """
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": f"{self._prefix}verifier",
                "enable.auto.commit": False,
                "isolation.level": isolation_level,
                "enable.partition.eof": True,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        if self._prefix + topic not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            consumer.close()
            return
        consumer.assign([TopicPartition(self._prefix + topic, n, 0) for n in range(partitions)])
        ended: set[int] = set()
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while len(ended) < partitions:
                assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
                for message in consumer.consume(2000, 0.2):
                    partition, offset = message.partition(), message.offset()
                    assert partition is not None
                    error = message.error()
                    if error is None:
                        assert offset is not None
                        yield (partition, offset), message
                    elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                        ended.add(partition)
                    elif not error.retriable() and not _may_pass(error):
                        raise KafkaException(error)
        finally:
            consumer.close()


def _may_pass(error: KafkaError) -> bool:
    return error.code() in {
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }


def _text(key: bytes | str | None) -> str:
    assert isinstance(key, bytes)
    return key.decode()


def _row(message: Message) -> dict[str, Any]:
    value = message.value()
    assert value is not None
    row: dict[str, Any] = json.loads(value)
    return row
