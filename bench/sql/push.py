"""Speed of push queries (SELECT with EMIT CHANGES) of many clients over one topic.

    equal       all clients have one query, which is evaluated once for each batch of records
    different   each client has a query of its own

A transaction makes all records visible at once, to clients that have started before. The time is
that from its commit to the last row of the last client; one thread takes the rows of all clients.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench.common.results_file import write_result
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.row_buffer import BufferLimits
from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster

_STREAM = (
    "CREATE STREAM rides (id STRING KEY, name STRING, minutes INT, km DOUBLE) "
    "WITH (kafka_topic = 'rides', value_format = 'JSON', partitions = 4);"
)
_PARTITIONS = 4
_LIMITS = BufferLimits(rows_max=10**9, bytes_max=10**12)
_QUIET_S = 60.0


class Rides:
    """The topic, and push queries over it."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.servers = cluster.bootstrap_servers
        made = NewTopic("rides", _PARTITIONS)
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.create_topics([made])["rides"].result(60)
        self._session = SqlSession()
        for _ in self._session.run(_STREAM):
            pass

    def shape(self, select: str) -> Shape:
        ((node, _),) = self._session.read(f"{select} EMIT CHANGES;")
        assert isinstance(node, exp.Select)
        node.set("emit", None)
        catalog = self._session.catalog
        return Shape.of(node, catalog, catalog.sources["RIDES"])

    def begin(self, records: int) -> Producer:
        """Write records in a transaction, and leave it open."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "transactional.id": "bench", "linger.ms": 50}
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        for number in range(records):
            value = f'{{"NAME":"rider {number}","MINUTES":{number % 100},"KM":{number % 1013 / 7}}}'
            while True:
                try:
                    producer.produce("rides", value, f"r{number}", number % _PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush(120)
        return producer


def select_of(client: int, *, equal: bool) -> str:
    """Return the query of a client: about half of the records."""
    number = 0 if equal else client
    return f"SELECT id, name, km + {number} AS far FROM rides WHERE minutes < 50"  # noqa: S608


def measure(rides: Rides, clients: int, records: int, *, equal: bool) -> dict[str, Any]:
    readers = SharedReaders(Brokers(rides.servers))
    try:
        producer = rides.begin(records)
        started = time.perf_counter()
        all_rows = [_client(rides, readers, select_of(at, equal=equal)) for at in range(clients)]
        subscribe_s = time.perf_counter() - started
        threads = threading.active_count()
        producer.commit_transaction(60)
        committed = time.perf_counter()
        wanted = sum(number % 100 < 50 for number in range(records))
        _take_all(all_rows, wanted)
        took_s = time.perf_counter() - committed
    finally:
        readers.close()
    return {
        "clients": clients,
        "queries": "equal" if equal else "different",
        "records": records,
        "subscribe_ms_each": round(subscribe_s / clients * 1000, 2),
        "threads": threads,
        "records_per_s": round(records / took_s),
        "rows_per_s": round(wanted * clients / took_s),
    }


def _client(rides: Rides, readers: SharedReaders, select: str) -> SharedRows:
    shape = rides.shape(select)
    return readers.subscribe(shape, "latest", Tokens.of(shape, "bench_"), _LIMITS)


def _take_all(all_rows: list[SharedRows], wanted: int) -> None:
    left = dict.fromkeys(all_rows, wanted)
    last_at = time.monotonic()
    while left:
        for rows in list(left):
            if taken := len(rows.next_rows(0)):
                last_at = time.monotonic()
                left[rows] -= taken
                if left[rows] == 0:
                    del left[rows]
        if time.monotonic() - last_at > _QUIET_S:
            raise SystemExit(f"no row came for {_QUIET_S:.0f} s; {len(left)} clients lack some")
        time.sleep(0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    options = parser.parse_args()
    cases = [(1, True), (100, True), (500, True), (100, False), (500, False)]
    found = []
    for clients, equal in cases:
        with (
            tempfile.TemporaryDirectory(prefix="duolog-push-") as directory,
            EmbeddedCluster(Path(directory) / "broker", {"durability": "os"}) as cluster,
        ):
            records = options.records if equal else max(options.records * 5 // clients, 2_000)
            found.append(measure(Rides(cluster), clients, records, equal=equal))
    write_result("push", {"cases": found})


if __name__ == "__main__":
    main()
