"""Messages between the broker and the compaction process: lines of JSON.

    broker → worker    a job, then `next` after each group that was swapped, or `stop`
    worker → broker    a group for each that was written, then `done`; or `failed`

Nothing that a worker writes counts before the broker has swapped it in.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from duolog.core.units import KIB, MIB
from duolog.log.producers.aborted_index import AbortedEntry

NEXT: Final = "next"
STOP: Final = "stop"


@dataclass(frozen=True, slots=True)
class CompactionJob:
    """One run over one log.

    Attributes:
        segments: base offset and size of each segment from the log's start up to `end_offset`.
        first_dirty_offset: the offset up to which the last run has cleaned.
        producers: for each producer that can still write, the last offset of its data, or -1 if it
            has none, and its epoch.
        bytes_per_second: the limit for reads and writes together; 0 means unlimited.
    """

    directory: str
    segments: tuple[tuple[int, int], ...]
    first_dirty_offset: int
    end_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes_max: int
    index_interval_bytes: int = 4096
    keys_max: int = 1024 * 1024
    chunk_bytes: int = 512 * KIB
    plain_bytes: int = 4 * MIB
    bytes_per_second: float = 0.0
    producers: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    aborted: tuple[AbortedEntry, ...] = ()

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, line: str) -> "CompactionJob":
        fields = json.loads(line)
        fields["segments"] = tuple(tuple(segment) for segment in fields["segments"])
        fields["aborted"] = tuple(AbortedEntry(*entry) for entry in fields["aborted"])
        fields["producers"] = {
            int(producer): tuple(last) for producer, last in fields["producers"].items()
        }
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """Segments that were rewritten as one, which has the base offset of the first."""

    base_offsets: tuple[int, ...]
    size_bytes: int
    max_timestamp: int
    aborted: bool


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a run: the log is clean up to `clean_offset`."""

    clean_offset: int
    bytes_read: int
    bytes_written: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of a run that could not be finished. `vanished`: the files are not there any more."""

    message: str
    vanished: bool


Answer = CleanedGroup | Done | Failed
_ANSWERS: Final = {"group": CleanedGroup, "done": Done, "failed": Failed}
_KINDS: Final = {kind: name for name, kind in _ANSWERS.items()}


def encode_answer(answer: Answer) -> str:
    return json.dumps({"answer": _KINDS[type(answer)], **asdict(answer)})


def decode_answer(line: str) -> Answer:
    fields = json.loads(line)
    kind = fields.pop("answer")
    if kind == "group":
        fields["base_offsets"] = tuple(fields["base_offsets"])
    answer = _ANSWERS[kind](**fields)
    assert isinstance(answer, CleanedGroup | Done | Failed)
    return answer
