"""The way of a fetch: sessions, reads up to the bound, waiting for records to come.

Start reading at `partition_reads`. Kafka: `FetchSession`, `DelayedFetch`,
`ReplicaManager.readFromLog`.
"""
