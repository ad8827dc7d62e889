"""Read one topic for `duolog consume`, from assigned partitions or as a member of a group.

The offset of a record is stored for the next commit when the caller asks for the following record.
An interrupted reader therefore loses nothing.
"""

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Final, NamedTuple, cast

import click
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import no_topic
from duolog.cli.records.text_record import Headers, TextRecord
from duolog.cli.text.times import read_time
from duolog.core.errors import KafkaError

_POLL_S: Final = 0.2
_CLOSE_S: Final = 3.0
_RECORDS_PER_POLL: Final = 1000
_UNKNOWN_PARTITION: Final = 3
_LEADER_NOT_AVAILABLE: Final = 5
_PARTITION_EOF: Final = -191
_PASSING: Final = frozenset({-195, -187, -147})
"""Errors that the client recovers from: lost connections, and an expired group membership."""
_NAMED: Final = {
    **dict.fromkeys(("beginning", "start", "earliest"), OFFSET_BEGINNING),
    **dict.fromkeys(("end", "latest"), OFFSET_END),
}


class Start(NamedTuple):
    """Start position: an offset, a name, a number of records before the end, or a time."""

    offset: int = OFFSET_END
    before_end: int | None = None
    time_ms: int | None = None


def read_start(text: str, now_ms: int) -> Start:
    """Parse the value of `--offset`.

    Example:
        >>> read_start("-5", 0).before_end, read_start("@10m", 700_000).time_ms
        (5, 100000)

    Raises:
        click.BadParameter: the text is not an offset.
    """
    if text.startswith("@"):
        return Start(time_ms=read_time(text[1:], now_ms))
    if text in _NAMED:
        return Start(offset=_NAMED[text])
    if text.removeprefix("-").isdecimal():
        return Start(before_end=int(text[1:])) if text[0] == "-" else Start(offset=int(text))
    raise click.BadParameter(
        f'"{text}" is not an offset; use N, -N (N records before the end), beginning, end or @TIME'
    )


class TopicReader:
    """Yields the records of one topic; passes messages for the user to `say`."""

    def __init__(
        self,
        topic: str,
        cluster: Cluster,
        *,
        group: str | None,
        from_beginning: bool,
        say: Callable[[str], None],
    ) -> None:
        self._topic = topic
        self._group = group
        self._from_beginning = from_beginning
        self._cluster = cluster
        self._say = say
        self._connection = cluster.connection()
        self._consumer: Consumer = cluster.consumer(
            self._connection,
            **{
                "group.id": group or "duolog-consume",
                "enable.auto.commit": "true" if group else "false",
                "enable.auto.offset.store": "false",
                "auto.offset.reset": "earliest" if from_beginning else "latest",
                "enable.partition.eof": "true",
                "allow.auto.create.topics": "false",
            },
        )
        self._until_end = False
        self._placed = False
        self._ends: dict[int, int] = {}
        self._at_end: set[int] = set()
        self._end_reported = False
        self._leaderless: frozenset[int] = frozenset()

    def assign(self, partitions: tuple[int, ...], start: Start, *, until_end: bool) -> None:
        """Assign partitions from `start` on; with `until_end`, record where they end now.

        Raises:
            KafkaError: the topic or one of the partitions does not exist.
        """
        at = self._starts(self._partition_numbers(partitions), start)
        self._until_end, self._placed = until_end, True
        if until_end:
            self._ends = self._open_ends(at)
        self._consumer.assign(at)

    def join(self, *, until_end: bool) -> None:
        """Read as a member of the group, from the partitions it assigns; raises as `assign`."""
        self._partition_numbers(())
        self._until_end = until_end
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)

    def records(self, limit: int | None) -> Iterator[TextRecord]:
        """Yield records up to `limit`, up to the recorded ends, or indefinitely."""
        count = 0
        while limit is None or count < limit:
            if self._until_end and self._placed and not self._ends:
                return
            most = _RECORDS_PER_POLL if limit is None else min(limit - count, _RECORDS_PER_POLL)
            for message in self._consumer.consume(most, _POLL_S):
                if not self._is_record(message):
                    continue
                count += 1
                yield _record(message)
                if self._group:
                    self._consumer.store_offsets(message)
            self._drop_reached_ends()
            self._connection.look()

    def close(self) -> None:
        """Commit the stored offsets and leave the group, if a broker is available."""
        # Without a broker, the client would block for almost a minute.
        closing = Thread(target=self._consumer.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_S)

    def _partition_numbers(self, wanted: tuple[int, ...]) -> list[int]:
        # Request all topics: a request that names a topic may create it.
        topics = self._cluster.ask(
            lambda timeout: self._consumer.list_topics(timeout=timeout)
        ).topics
        if self._topic not in topics:
            raise no_topic(self._topic, topics)
        there = sorted(topics[self._topic].partitions)
        if missing := [number for number in wanted if number not in there]:
            raise KafkaError(
                f'partition {missing[0]} of topic "{self._topic}" does not exist',
                code=_UNKNOWN_PARTITION,
                hint=f"Use a partition from 0 to {there[-1]}.",
            )
        partitions = topics[self._topic].partitions
        self._leaderless = frozenset(number for number in there if partitions[number].leader < 0)
        led = sorted(set(there) - self._leaderless)
        if left_out := sorted(self._leaderless.intersection(wanted or there)):
            self._without_leader(left_out, others=bool(led) and not wanted)
        return sorted(set(wanted)) or led

    def _without_leader(self, numbers: list[int], *, others: bool) -> None:
        named = f"partition{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        if others:
            self._say(f'{named} of topic "{self._topic}" without a leader; reading the others')
            return
        raise KafkaError(
            f'{named} of topic "{self._topic}" without a leader',
            code=_LEADER_NOT_AVAILABLE,
            retriable=True,
            hint="Read the broker's log: the partition may be damaged, or its disk may be missing.",
        )

    def _starts(self, numbers: list[int], start: Start) -> list[TopicPartition]:
        if start.time_ms is not None:
            wanted = [TopicPartition(self._topic, number, start.time_ms) for number in numbers]
            return self._cluster.ask(
                lambda timeout: self._consumer.offsets_for_times(wanted, timeout=timeout)
            )
        if start.before_end is None and start.offset < 0:
            return [TopicPartition(self._topic, number, start.offset) for number in numbers]
        return [
            TopicPartition(self._topic, number, self._offset_in(number, start))
            for number in numbers
        ]

    def _offset_in(self, number: int, start: Start) -> int:
        low, high = self._watermarks(TopicPartition(self._topic, number))
        if start.before_end is not None:
            return max(low, high - start.before_end)
        if not low <= start.offset <= high:
            self._say(
                f"offset {start.offset} is out of range: partition {number} has {low} to {high}"
            )
        return min(max(low, start.offset), high)

    def _watermarks(self, place: TopicPartition) -> tuple[int, int]:
        return self._cluster.ask(
            lambda timeout: self._consumer.get_watermark_offsets(place, timeout=timeout)
        )

    def _open_ends(self, starts: list[TopicPartition]) -> dict[int, int]:
        """Return partition → high watermark, for partitions with something to read before it."""
        ends = {}
        for start in starts:
            if start.partition in self._leaderless:
                continue
            low, high = self._watermarks(start)
            first = {OFFSET_BEGINNING: low, OFFSET_END: high}.get(start.offset, start.offset)
            if first < high:
                ends[start.partition] = high
        return ends

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        reset = OFFSET_BEGINNING if self._from_beginning else OFFSET_END
        starts = self._cluster.ask(lambda timeout: consumer.committed(places, timeout=timeout))
        if self._from_beginning and any(start.offset >= 0 for start in starts):
            self._say(
                f'group "{self._group}" resumes at its committed offsets; move them with '
                f"`duolog groups reset {self._group} --topic {self._topic} --to-earliest`"
            )
        if not places:
            self._say(f'group "{self._group}" assigned no partition: other members have them all')
        for start in starts:
            start.offset = start.offset if start.offset >= 0 else reset
        if self._until_end:
            self._ends |= self._open_ends(starts)
        self._placed = True

    def _revoked(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        del consumer
        for place in places:
            self._ends.pop(place.partition, None)
            self._at_end.discard(place.partition)

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        number = message.partition() or 0
        if error is None:
            return not self._until_end or (message.offset() or 0) < self._ends.get(number, 0)
        if error.code() == _PARTITION_EOF:
            self._at_end.add(number)
            self._report_end()
        elif error.code() not in _PASSING:
            raise KafkaException(error)
        return False

    def _report_end(self) -> None:
        if self._end_reported or self._until_end:
            return
        if len(self._at_end) >= len(self._consumer.assignment()):
            self._end_reported = True
            self._say(
                f'reached the end of topic "{self._topic}"; waiting for records (Ctrl-C stops)'
            )

    def _drop_reached_ends(self) -> None:
        """Remove partitions that were read to their end, over gaps and markers."""
        if not self._ends:
            return
        asked = [TopicPartition(self._topic, number) for number in self._ends]
        for at in self._consumer.position(asked):
            if at.offset >= self._ends[at.partition]:
                del self._ends[at.partition]


def _record(message: Message) -> TextRecord:
    kind, timestamp_ms = message.timestamp()
    return TextRecord(
        key=message.key(),
        value=message.value(),
        # Consumed messages have their headers as pairs; only produced ones may use a dictionary.
        headers=cast("Headers", message.headers() or []),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        topic=message.topic() or "",
        partition=message.partition(),
        offset=message.offset(),
    )
