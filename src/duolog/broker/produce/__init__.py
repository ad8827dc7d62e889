"""The way of a produced batch: checks, staging, and the round that makes many one write and one fsync.

Start reading at `rounds`. Kafka: `ReplicaManager.appendRecords`, `LogValidator`.
"""
