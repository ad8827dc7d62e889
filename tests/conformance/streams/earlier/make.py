"""Create the data stored here: run it in the tree of the version to preserve.

    PYTHONPATH=…/tests python make.py b506ee0.tar.xz
    PYTHONPATH=…/tests python make.py 9e67505.tar.xz --without-sql    as it refuses some statements

A broker with topics, a group's offsets, a transaction that was committed, one that was aborted and
a compacted topic; the checkpoint of an application, and that of one with exactly-once results and
changelogs; a service of SQL with its command topic and the checkpoints of its queries.
"""

import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.streams.earlier.programs import (
    EARLIER,
    NEVER,
    RECORDS,
    SERVICE,
    SETTINGS,
    STATEMENTS,
    logged,
    topology,
)
from duolog import Topology
from duolog.engine import Engine, EngineConfig
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from waiting import wait_until


def make(folder: Path, *, with_sql: bool) -> None:
    with EmbeddedCluster(folder / "broker", settings=SETTINGS) as cluster:
        servers = cluster.bootstrap_servers
        _write(servers)
        engine = Engine(EngineConfig(servers, folder / "checkpoints", epoch_ms=1000))
        _run(engine, topology())
        directory = folder / "logged-checkpoints"
        config = EngineConfig(servers, directory, epoch_ms=1000, exactly_once=True, changelog="on")
        with_changelogs = Engine(config)
        _run(with_changelogs, logged())
        if with_sql:
            _serve(servers, folder / "sql")
        with_changelogs.close()
        engine.close()


def _run(engine: Engine, app: Topology) -> None:
    query = engine.start(app.build(), app.name, "micro-batch")
    assert query.wait_until_caught_up(120)
    query.stop()
    assert query.exception() is None


def _serve(servers: str, folder: Path) -> None:
    with SqlEngine(servers, data=folder, service_id=SERVICE) as service:
        for _ in service.execute(STATEMENTS):
            pass
        assert service.wait_settled(120)
        _wait_for_commits(folder)


def _write(servers: str) -> None:
    client: dict[str, Any] = {"bootstrap.servers": servers}
    admin = AdminClient(client)
    compacted = {"cleanup.policy": "compact"}
    topics = [NewTopic(name, 1, 1, config=NEVER) for name in (*RECORDS, "moved")]
    topics.append(NewTopic("names", 1, 1, config=compacted))
    for made in admin.create_topics(topics).values():
        made.result(60)
    producer = Producer(client)
    for name, record in RECORDS.items():
        for n in EARLIER:
            key, value = record(n)
            producer.produce(name, value, key, timestamp=1000 * (n + 1))
    for n in EARLIER:
        producer.produce("names", f"name {n}", f"k{n % 3}")
    producer.produce("names", None, "k0")
    assert producer.flush(60) == 0
    consumer = Consumer({**client, "group.id": "readers", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("readings", 0, 7)], asynchronous=False)
    writer = Producer({**client, "transactional.id": "mover"})
    writer.init_transactions(60)
    for name, end in (("kept", writer.commit_transaction), ("lost", writer.abort_transaction)):
        writer.begin_transaction()
        writer.produce("moved", name, name)
        writer.send_offsets_to_transaction(
            [TopicPartition("readings", 0, 9)], consumer.consumer_group_metadata(), 60
        )
        writer.flush(60)
        end(60)
    consumer.close()


def _wait_for_commits(folder: Path) -> None:
    """Wait until each query has read all records and committed its micro-batches."""

    def all_committed() -> bool:
        logs = [
            [len([*spark.glob(f"{log}/[0-9]*")]) for log in ("offsets", "commits")]
            for spark in folder.rglob("spark")
        ]
        return len(logs) == 3 and all(planned == done > 0 for planned, done in logs)

    wait_until(all_committed, f"the queries of {folder} have committed", 120)


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / "data"
        make(made, with_sql="--without-sql" not in sys.argv)
        for log in (made / "broker.log", *made.rglob("engine.log")):
            log.unlink()
        with tarfile.open(sys.argv[1], "w:xz") as packed:
            packed.add(made, arcname=".", filter=_without_owner)
