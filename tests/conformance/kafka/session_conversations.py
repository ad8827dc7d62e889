"""Conversations about fetch sessions: their answers and their errors."""

from collections.abc import Callable
from typing import Any, Final

from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import (
    FETCH,
    METADATA,
    PRODUCE,
    batch,
    create_and_wait,
    new_topic,
)


class Session:
    """A fetch session as a client sees it: codes, partitions and offsets."""

    def __init__(self, client: WireClient, topic: str, version: int) -> None:
        self.client = client
        self.topic = topic
        self.version = version
        self.id = self.epoch = 0
        row = client.ask(
            METADATA,
            12,
            topics=[{"topic_id": None, "name": topic}],
            allow_auto_topic_creation=False,
        ).topics[0]
        self.topic_id = row.topic_id

    def fetch(self, offsets: dict[int, int], forgotten: tuple[int, ...] = (), **more: Any) -> Any:
        name = {"topic_id": self.topic_id} if self.version >= 13 else {"topic": self.topic}
        asked = [
            {
                "partition": index,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": 99_999,
            }
            for index, offset in offsets.items()
        ]
        fields = {
            "replica_id": -1,
            "max_wait": 0,
            "min_bytes": 0,
            "max_bytes": 99_999,
            "isolation_level": 0,
            "rack_id": "",
            "session_id": self.id,
            "session_epoch": self.epoch,
            "topics": [{**name, "partitions": asked}] if asked else [],
            "forgotten_topics_data": (
                [{**name, "partitions": list(forgotten)}] if forgotten else []
            ),
            **more,
        }
        answer = self.client.ask(FETCH, fields.pop("version", self.version), **fields)
        if not answer.error_code:
            self.epoch = self.epoch + 1 if answer.session_id else 0
            self.id = answer.session_id
        return answer.error_code, answer.session_id > 0, sorted(
            (row.partition_index, row.error_code, row.high_watermark, row.log_start_offset,
             bool(row.records))
            for topic in answer.responses for row in topic.partitions
        )  # fmt: skip

    def produce(self, partition: int, *values: bytes) -> None:
        rows = [{"index": partition, "records": batch(*values)}]
        data = [{"name": self.topic, "partition_data": rows}]
        self.client.ask(PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)


def incremental_fetches(client: WireClient) -> Any:
    create_and_wait(client, new_topic("sessions", 4))
    found = []
    for version in (7, 11, 12, 13, 17):
        session = Session(client, "sessions", version)
        found += [session.fetch({0: 0, 1: 0, 2: 0}), session.fetch({})]
        session.produce(1, b"a", b"b")
        found += [session.fetch({}), session.fetch({}), session.fetch({1: 2}), session.fetch({})]
        found += [session.fetch({3: 0}), session.fetch({}, (1, 2))]
        session.produce(2, b"c")
        found += [
            session.fetch({}),
            session.fetch({0: 99}),
            session.fetch({}),
            session.fetch({9: 0}),
        ]
        found += [session.fetch({}), session.fetch({0: 0}, (9,)), session.fetch({}, (0, 3))]
        found += [session.fetch({0: 0})]
    return [(code, session, rows) for code, session, rows in found]


def sessions_that_are_refused(client: WireClient) -> Any:
    create_and_wait(client, new_topic("sessions_bad", 2))
    found = []
    for version in (11, 12):
        session = Session(client, "sessions_bad", version)
        first = session.fetch({0: 0})
        found += [
            first,
            session.fetch({}, session_epoch=session.epoch + 1),
            session.fetch({}, session_id=0),
            session.fetch({}, session_id=session.id ^ 1),
            session.fetch({}, version=13),
            session.fetch({}),
            session.fetch({}, session_epoch=session.epoch - 1),
            session.fetch({0: 0}, session_epoch=-1),
            session.fetch({}),
        ]
    return found


CONVERSATIONS: Final[list[Callable[[WireClient], Any]]] = [
    incremental_fetches,
    sessions_that_are_refused,
]
