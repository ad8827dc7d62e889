"""A broker, and sessions of clients over tables that they share."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from sqlglot import exp

from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.reply import pull
from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
from duolog.runtime.sql.tables.topic_follower import THREAD
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster
from waiting import DEADLINE_S, wait_until

WAIT_MS: Final = str(DEADLINE_S * 1000)


class Asker:
    """A session of one client over tables that it shares with others."""

    def __init__(self, present: MaterializedTables, session: SqlSession) -> None:
        self.present, self.session, self.catalog = present, session, session.catalog

    def set(self, **properties: object) -> "Asker":
        for name, value in properties.items():
            full = f"ksql.query.pull.{name.replace('_', '.')}"
            self.session.state.settings.set(full, str(value))
        return self

    def answer(self, text: str) -> Rows:
        (node,) = parse(text)
        assert isinstance(node, exp.Query)
        return pull.select(self, node, text)

    def ask(self, text: str) -> list[tuple[object, ...]]:
        with self.answer(text) as rows:
            return list(rows)


class Cluster:
    """A broker, a producer, and tables `A0`, `B0`, … over new topics."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.producer = Producer({"bootstrap.servers": bootstrap})
        self._numbers = count()
        self._opened: list[MaterializedTables] = []

    def create(self, topic: str, partitions: int = 2) -> None:
        for made in self.admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            made.result()

    def delete(self, topic: str) -> None:
        for gone in self.admin.delete_topics([topic]).values():
            gone.result()

    def grow(self, topic: str, partitions: int) -> None:
        asked = [NewPartitions(topic, partitions)]
        for grown in self.admin.create_partitions(asked).values():
            grown.result()

    def write_anew(self, topic: str, key: str, v: Any, partition: int) -> None:
        """Write by a producer that knows no older state of the topic."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        wait_until(
            lambda: partition in producer.list_topics(topic).topics[topic].partitions, "partition"
        )
        producer.produce(topic, key=key.encode(), value=json.dumps({"V": v}), partition=partition)
        assert not producer.flush(DEADLINE_S)

    def tables(self, *letters: str) -> tuple[list[str], MaterializedTables, str]:
        """Return names of new tables, the store for them, and their statements."""
        number = next(self._numbers)
        names = [f"{letter}{number}" for letter in letters]
        for name in names:
            self.create(name)
        statements = " ".join(
            f"CREATE TABLE {name} (id STRING PRIMARY KEY, v INT) "
            f"WITH (kafka_topic='{name}', value_format='JSON');"
            for name in names
        )
        present = MaterializedTables(Brokers(self.bootstrap))
        self._opened.append(present)
        return names, present, statements

    def write(self, topic: str, key: str, v: Any, **more: Any) -> None:
        value = v if v is None or isinstance(v, bytes) else json.dumps({"V": v}).encode()
        self.producer.produce(topic, key=key.encode(), value=value, **more)

    def flush(self) -> None:
        assert not self.producer.flush(DEADLINE_S)

    def close(self) -> None:
        for present in self._opened:
            present.close()


def asker(present: MaterializedTables, statements: str) -> Asker:
    session = SqlSession()
    list(session.run(statements))
    return Asker(present, session)


@contextmanager
def running_cluster(directory: Path) -> Iterator[Cluster]:
    """Run a broker; its tables are closed at the end."""
    with EmbeddedCluster(directory / "broker") as embedded:
        found = Cluster(embedded.bootstrap_servers)
        yield found
        found.close()
        assert not any(thread.name == THREAD for thread in threading.enumerate())
