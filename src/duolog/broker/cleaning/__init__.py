"""Background work on logs: compaction, retention, recovery points.

Start reading at `cleaner`. Kafka: `LogCleaner`, `LogManager`.
"""
