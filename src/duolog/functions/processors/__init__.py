"""Users' processors: classes that are called with each record and store their state.

    records.py            the records of a processor
    contexts.py           its interface to the engine
    stores.py             the kinds of its stores, on top of `entries.py`: by key (`key_values.py`),
                          with windows (`windowed.py`), with versions (`versioned.py`)
    schedules.py          calls without a record
    processor_runtime.py  runs one processor
    serving.py            runs them in a worker, over `wire.py`

Start with `contexts.Processor`. Source: Kafka Streams `Processor`, `ProcessorContext` (KIP-478,
KIP-820).
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
