"""Processors of users: a class that is called with each record, and keeps what it must in stores.

    records.py     what a processor gets and forwards          contexts.py   what it asks and tells
    stores.py      stores as it sees them, over `entries.py`   schedules.py  when it is called without a record
    hosted.py      one that is called                          serving.py    in a process of the kernel's, over `wire.py`

Start with `contexts.Processor`. Source: Kafka Streams `Processor`, `ProcessorContext` (KIP-478, KIP-820).
"""

from duolog.functions.processors.contexts import (
    Cancellable,
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    Processor,
    ProcessorContext,
)
from duolog.functions.processors.records import FixedKeyRecord, Record, RecordMetadata
from duolog.functions.processors.schedules import PunctuationType

__all__ = [
    "Cancellable",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "FixedKeyRecord",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
]
