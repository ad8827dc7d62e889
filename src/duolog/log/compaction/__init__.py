"""Compaction: the last record of each key stays, and offsets stay what they are.

    policy      which logs are worth it, and how far they may be cleaned
    job         messages between the broker and the compaction process
    scan        where keys and records lie in many batches at once
    key_map     the last offset of each key
    markers     which batches belong to aborted transactions, which markers are still needed
    rewrite     one batch without the records that go
    compactor   two passes over a log: the map is built, the segments are rewritten
    worker      the process

The broker imports `policy` and `job` only: the rest needs numpy, which is of no use to it.

Source: Kafka `LogCleaner`, `Cleaner`, `LogCleanerManager`. See
docs/adr/0014-compact-logs-in-a-separate-process.md.
"""
