"""Offsets in topic partitions."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka.admin import ListOffsetsResultInfo

EndOffsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> the offset that the next record gets."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """An offset at one end of a log, and the leader epoch returned with it (-1: none)."""

    offset: int
    leader_epoch: int = -1

    @classmethod
    def of(cls, found: ListOffsetsResultInfo) -> "LogEnd":
        return cls(found.offset, -1 if found.leader_epoch is None else found.leader_epoch)
