"""The way of a produced batch: checks, staging, and one write and one fsync for many batches.

Start reading at `rounds`. Kafka: `ReplicaManager.appendRecords`, `LogValidator`.
"""
