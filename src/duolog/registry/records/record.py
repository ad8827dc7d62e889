"""A record of `_schemas`: a key and a value, or a tombstone."""

from dataclasses import dataclass
from typing import Final

from duolog.registry.records.keys import Key, NoopKey
from duolog.registry.records.values import Value


@dataclass(frozen=True, slots=True)
class Record:
    """A record; a value of None deletes what the key names."""

    key: Key
    value: Value | None


# A new leader writes it before it reads the topic to its end: afterwards no older leader's record
# can follow.
BARRIER: Final = Record(NoopKey(), None)
