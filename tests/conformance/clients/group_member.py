"""A member of a consumer group, as a program that a test can kill.

    python group_member.py CLIENT BOOTSTRAP GROUP TOPIC [NAME=VALUE]...

CLIENT is confluent, kafka-python or aiokafka; a NAME is `instance` (static member), `strategy`, or
`protocol` (`consumer` for that of KIP-848, whose timeouts are the broker's).
It prints a JSON line whenever its partitions change and for each record, commits what it printed,
and leaves the group on SIGTERM.
"""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

SESSION_MS = 2_000
HEARTBEAT_MS = 300

stopping = False


def write_line(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


class Report:
    """Prints each change of the member's partitions."""

    def __init__(self) -> None:
        self.partitions: list[int] | None = None

    def assigned(self, partitions: Iterable[int]) -> None:
        now = sorted(partitions)
        if now != self.partitions:
            self.partitions = now
            write_line(partitions=now)

    def record(self, partition: int, offset: int, value: bytes) -> None:
        write_line(partition=partition, offset=offset, value=value.decode())


def run_confluent(bootstrap: str, group: str, topic: str, options: dict[str, str]) -> None:
    from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415

    config = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if options.get("protocol") == "consumer":
        config["group.protocol"] = "consumer"
    else:
        config |= {
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": options.get("strategy", "range"),
        }
    if "instance" in options:
        config["group.instance.id"] = options["instance"]
    consumer = Consumer(config)
    consumer.subscribe([topic])
    report = Report()
    while not stopping:
        message = consumer.poll(0.1)
        report.assigned(part.partition for part in consumer.assignment())
        if message is not None and message.error() is None:
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            report.record(partition, offset, value)
            # A member that was away too long is refused; another member reads the record again.
            with suppress(KafkaException):
                consumer.commit(message=message, asynchronous=False)
    consumer.close()


def run_kafka_python(bootstrap: str, group: str, topic: str, options: dict[str, str]) -> None:
    from kafka import KafkaConsumer  # noqa: PLC0415
    from kafka.errors import KafkaConnectionError  # noqa: PLC0415

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=options.get("instance"),
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    report = Report()
    while not stopping:
        # In 3.0.12 a poll that times out while its rebalance ends forgets to finish it: the member
        # has no partitions and sends no heartbeats. So the poll is longer than a rebalance here.
        try:
            polled = consumer.poll(timeout_ms=1_500)
        except KafkaConnectionError:
            continue  # 3.0.12 raises if the coordinator lookup failed: poll again.
        report.assigned(part.partition for part in consumer.assignment())
        for record in (record for records in polled.values() for record in records):
            report.record(record.partition, record.offset, record.value)
        if polled:
            consumer.commit()
    consumer.close()


async def run_aiokafka(bootstrap: str, group: str, topic: str, options: dict[str, str]) -> None:
    from aiokafka import AIOKafkaConsumer  # noqa: PLC0415

    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=options.get("instance"),
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    report = Report()
    while not stopping:
        polled = await consumer.getmany(timeout_ms=100)
        report.assigned(part.partition for part in consumer.assignment())
        for record in (record for records in polled.values() for record in records):
            report.record(record.partition, record.offset, record.value)
        if polled:
            await consumer.commit()
    await consumer.stop()


def stop(_number: int, _frame: FrameType | None) -> None:
    global stopping  # noqa: PLW0603  A program of one loop.
    stopping = True


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    signal.signal(signal.SIGTERM, stop)
    client, bootstrap, group, topic, *rest = sys.argv[1:]
    options = dict(pair.split("=", 1) for pair in rest)
    if client == "aiokafka":
        asyncio.run(run_aiokafka(bootstrap, group, topic, options))
    else:
        run = {"confluent": run_confluent, "kafka-python": run_kafka_python}[client]
        run(bootstrap, group, topic, options)


if __name__ == "__main__":
    main()
