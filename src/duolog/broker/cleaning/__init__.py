"""What goes over logs beside traffic: compaction, retention, recovery points.

Start reading at `cleaner`. Kafka: `LogCleaner`, `LogManager`.
"""
