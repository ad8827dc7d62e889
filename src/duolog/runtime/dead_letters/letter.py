"""One dead letter: a record, the error in its headers, and its position in the source topic.

    headers                                       written by
    __streams.errors.exception, .message,         Kafka Streams (KIP-1034) and Duolog
      .stacktrace, .topic, .partition, .offset
    __duolog.errors.application, .timestamp,      Duolog: the query, the original timestamp if a
      .left.out                                   topic does not accept it, what was too large
    __connect.errors.topic, .partition, .offset,  Kafka Connect (KIP-298)
      .connector.name, .stage,
      .exception.class.name, .exception.message,
      .exception.stacktrace
    __duolog.replay.id, .topic, .partition,       a replay: its id, and where the letter was
      .offset, .count

All values are UTF-8 text. If a header is repeated, the last one counts: a record that was skipped
twice has those of both errors.

Source: KIP-1034; Kafka Connect's `DeadLetterQueueReporter`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from duolog.core.counts import counted

Headers = tuple[tuple[str, bytes | None], ...]
Writer = Literal["duolog", "streams", "connect"]

STREAMS: Final = "__streams.errors."
DUOLOG: Final = "__duolog.errors."
CONNECT: Final = "__connect.errors."
REPLAY: Final = "__duolog.replay."
_ADDED: Final = (STREAMS, DUOLOG, CONNECT, REPLAY)
_DIGITS_MAX: Final = 19
_NUMBER_MAX: Final = 2**63 - 1


class Record(NamedTuple):
    """A record as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @property
    def bytes(self) -> int:
        """The length of key, value and headers."""
        headers = sum(len(name) + len(data or b"") for name, data in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class Place(NamedTuple):
    """A position in a topic; parts that a header does not have, or has in error, are None."""

    topic: str | None
    partition: int | None
    offset: int | None


class Failure(NamedTuple):
    """The error of a record; texts that are unknown are empty."""

    class_name: str = ""
    message: str = ""
    stacktrace: str = ""
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter.

    Attributes:
        record: the letter as it is in its topic.
        writer: the kind of program that wrote it.
        query: id of the application or SQL query, or name of the connector; empty if unknown.
        source: where the record was read that could not be processed.
        own: the headers of the record in its source topic.
        left_out: parts of the record that were too large for the letter; empty if it is complete.
        timestamp_ms: that of the record in its source topic.
        replays: how often the record was replayed before it was skipped again.
    """

    record: Record
    writer: Writer
    failure: Failure
    query: str
    source: Place
    own: Headers
    left_out: str
    timestamp_ms: int
    replays: int = 0

    @property
    def reason(self) -> str:
        """The name of the error's class without its package, for counts.

        Example:
            >>> failed = Failure("org.apache.kafka.common.errors.SerializationException")
            >>> Letter(Record("t", 0, 0, 0, None, None), "streams", failed, "",
            ...        Place(None, None, None), (), "", 0).reason
            'SerializationException'
        """
        return self.failure.class_name.rpartition(".")[2] or "unknown"


def read_letter(record: Record) -> Letter | None:
    """Return the dead letter that a record is; None if its headers are not those of one."""
    texts = {
        name: "" if data is None else data.decode(errors="replace")
        for name, data in record.headers
        if name.startswith(_ADDED)
    }
    if (writer := _writer(texts)) is None:
        return None
    prefix = CONNECT if writer == "connect" else STREAMS
    names = _NAMES[prefix]
    failure = Failure(*(texts.get(prefix + name, "") for name in names))
    query = texts.get(f"{CONNECT}connector.name") or texts.get(f"{DUOLOG}application") or ""
    original = _number(texts.get(f"{DUOLOG}timestamp"), signed=True)
    return Letter(
        record,
        writer,
        failure,
        query,
        Place(
            texts.get(f"{prefix}topic") or None,
            _number(texts.get(f"{prefix}partition")),
            _number(texts.get(f"{prefix}offset")),
        ),
        own_headers(record.headers),
        texts.get(f"{DUOLOG}left.out", ""),
        record.timestamp_ms if original is None else original,
        _number(texts.get(f"{REPLAY}count")) or 0,
    )


def own_headers(headers: Headers) -> Headers:
    """Return the headers without those about errors and replays."""
    return tuple(pair for pair in headers if not pair[0].startswith(_ADDED))


def replay_headers(letter: Letter, replay_id: str) -> Headers:
    """Return the headers that mark a replayed record and its origin."""
    place = letter.record
    facts: Mapping[str, object] = {
        "id": replay_id,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
        "count": letter.replays + 1,
    }
    return tuple((REPLAY + name, str(value).encode()) for name, value in facts.items())


def named(record: Record) -> str:
    """Return a position as text for messages."""
    return f'offset {record.offset} of partition {record.partition} of topic "{record.topic}"'


def shown_size(data: bytes) -> str:
    """Return a length as text."""
    return counted(len(data), "byte")


_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    STREAMS: ("exception", "message", "stacktrace"),
    CONNECT: ("exception.class.name", "exception.message", "exception.stacktrace", "stage"),
}


def _writer(texts: Mapping[str, str]) -> Writer | None:
    """Return who wrote the error headers; Duolog's letters have Kafka Streams' headers as well."""
    if f"{STREAMS}exception" in texts:
        return "duolog" if any(name.startswith(DUOLOG) for name in texts) else "streams"
    if f"{CONNECT}exception.class.name" in texts or f"{CONNECT}topic" in texts:
        return "connect"
    return None


def _number(text: str | None, *, signed: bool = False) -> int | None:
    """Return a header as a number; None if it is absent, not a number, or too large for Kafka."""
    digits = (text or "").removeprefix("-") if signed else text or ""
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX):
        return None
    number = int(text or "")
    return number if abs(number) <= _NUMBER_MAX else None
