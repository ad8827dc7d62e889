"""The letters that were replayed: records of one compacted topic.

    key     {"letters": topic, "id": topic id, "replay": id of the replay, "batch": 0}
    value   {"by": user, "partitions": {"0": [17, 3, 25, 1]}}     runs: offset, count

The records of a replay and its mark are one transaction, so that both exist or neither does. Keys
are never repeated: the topic keeps all marks, however long ago. The id of the topic is part of the
key because a topic that was deleted and created again has other letters at the same offsets.

Threads: one.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import NewTopic

from duolog.core.errors import KafkaError
from duolog.runtime.dead_letters.reading import REQUEST_S, Records, refused
from duolog.runtime.topic_states import topic_id_of
from duolog.runtime.topics import create

TOPIC: Final = "_duolog-replayed-dead-letters"
_CONFIG: Final = {"cleanup.policy": "compact"}
_READ_BY: Final = (
    # Kafka's UNSUPPORTED_VERSION: brokers before 2.8 have no topic ids.
    35,
)
Replayed = Mapping[int, frozenset[int]]
"""Replayed offsets by partition."""


def topic_id(records: Records, topic: str) -> str:
    """Return the id of a topic as text; empty if the broker has no topic ids.

    Raises:
        KafkaError: there is no such topic, or the broker does not answer.
    """
    try:
        futures = records.admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_S)
        found = topic_id_of(futures[topic].result(REQUEST_S))
    except (KafkaException, TimeoutError) as error:
        problem = refused(f'describe topic "{topic}"', error)
        if problem.code in _READ_BY:
            return ""
        raise problem from error
    return "" if found == "AAAAAAAAAAAAAAAAAAAAAA" or not found else found


def ensure_topic(records: Records) -> None:
    """Create the topic of marks unless it exists.

    Raises:
        KafkaError: the broker refuses.
    """
    if TOPIC not in records.topics():
        create(records.admin, [NewTopic(TOPIC, 1, config=dict(_CONFIG))])


def read_marks(records: Records, topic: str, identity: str) -> Replayed:
    """Return the replayed offsets of a topic with an id.

    Raises:
        KafkaError: the marks cannot be read.
    """
    found: dict[int, set[int]] = {}
    if TOPIC not in records.topics():
        return {}
    for record in records.records(TOPIC, records.ranges(TOPIC, 1)):
        try:
            key, value = json.loads(record.key or b""), json.loads(record.value or b"null")
            if value is None or (key["letters"], key["id"]) != (topic, identity):
                continue
            for number, runs in value["partitions"].items():
                offsets = found.setdefault(int(number), set())
                for first, count in zip(runs[::2], runs[1::2], strict=True):
                    offsets.update(range(first, first + count))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KafkaError(
                f'offset {record.offset} of topic "{TOPIC}" is not a mark of a replay',
                code=_CORRUPT,
                detail=str(error),
                hint="Another program has written to the topic. Without its marks, letters would "
                "be replayed twice.",
            ) from error
    return {number: frozenset(offsets) for number, offsets in found.items()}


def mark_of(
    letters: tuple[str, str], replay_id: str, batch: int, places: Iterable[tuple[int, int]], by: str
) -> tuple[bytes, bytes]:
    """Return key and value of the mark of a transaction.

    Args:
        letters: name and id of the dead-letter topic.
        replay_id: the id of the replay.
        batch: the number of the transaction in the replay.
        by: who replays the letters.
        places: partition and offset of each letter in it.

    Example:
        >>> mark_of(("wrong", "x"), "r", 0, [(0, 1), (0, 2), (0, 5)], "")[1]
        b'{"by":"","partitions":{"0":[1,2,5,1]}}'
    """
    runs: dict[str, list[int]] = {}
    for number, offset in places:
        known = runs.setdefault(str(number), [])
        if known and offset == known[-2] + known[-1]:
            known[-1] += 1
        else:
            known += [offset, 1]
    topic, identity = letters
    key = {"letters": topic, "id": identity, "replay": replay_id, "batch": batch}
    return _json(key), _json({"by": by, "partitions": runs})


_CORRUPT: Final = 2
"""Kafka's CORRUPT_MESSAGE."""


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
