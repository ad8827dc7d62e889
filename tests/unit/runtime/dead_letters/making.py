"""Letters for tests."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from duolog.runtime.dead_letters import replay
from duolog.runtime.dead_letters.letter import Headers, Letter, Record, read_letter
from duolog.runtime.dead_letters.reading import Range
from duolog.runtime.dead_letters.selection import Selection

if TYPE_CHECKING:
    from duolog.runtime.dead_letters.marks import Replayed

ERROR = "org.apache.kafka.common.errors.SerializationException"


def headers(topic: str = "orders", partition: object = 0, offset: object = 7) -> Headers:
    texts = {
        "exception": ERROR,
        "message": "cannot read it",
        "stacktrace": "at …",
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
    }
    return tuple((f"__streams.errors.{name}", text.encode()) for name, text in texts.items())


def letter(
    offset: int = 0,
    value: bytes | None = b"v",
    key: bytes | None = b"k",
    *,
    partition: int = 0,
    more: Headers = (),
    of: Headers | None = None,
) -> Letter:
    record = Record(
        "wrong", partition, offset, 1_000, key, value, (*more, *(headers() if of is None else of))
    )
    found = read_letter(record)
    assert found is not None
    return found


class Topic:
    """Reads the topic "wrong" in memory, with one letter for each source topic."""

    def __init__(self, patch: pytest.MonkeyPatch, *sources: str) -> None:
        self.letters = [
            Record("wrong", 0, number, 1_000, b"k", b"v", headers(source, 0, number))
            for number, source in enumerate(sources)
        ]
        self.sources = dict.fromkeys(sources, 1)
        self.marks: Replayed = {}
        patch.setattr(replay, "topic_id", lambda *_: "id")
        patch.setattr(replay, "read_marks", lambda *_: self.marks)

    def add(self, source: str) -> None:
        """Add a letter at the end."""
        offset = self.letters[-1].offset + 1
        of = headers(source, 0, offset)
        self.letters.append(Record("wrong", 0, offset, 1_000, b"k", b"v", of))

    def topics(self) -> dict[str, int]:
        return {"wrong": 1, **self.sources}

    def selected(self, _topic: str, _partitions: int, wanted: Selection) -> dict[int, Range]:
        end = self.letters[-1].offset + 1
        found = (wanted.first, end if wanted.last is None else wanted.last + 1)
        return dict.fromkeys(sorted({one.partition for one in self.letters}), found)

    def records(self, _topic: str, ranges: Mapping[int, Range]) -> Iterator[Record]:
        for number, (start, end) in ranges.items():
            for one in self.letters:
                if one.partition == number and start <= one.offset < end:
                    yield one
