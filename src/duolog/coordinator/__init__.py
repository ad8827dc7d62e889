"""Consumer groups as a replayed state machine: no socket, no disk, no clock, no thread.

A request and the moment go in; an `Outcome` comes out: replies that may leave at once, records for
`__consumer_offsets`, and replies that may leave when those records are durable. The broker appends,
replays, then replies. Durable state changes in `GroupCoordinator.replay` only, so that a restart is
the same replay. What a group forgets in a crash (who waits in a rebalance, deadlines) is soft state,
as in Kafka.

May import `record`, `protocol`, `core`. Start with `coordinator.py`, then `group.py` and
`rebalance.py`; `records.py` holds the forms on disk.

Source: Kafka `org.apache.kafka.coordinator.group`, the classic protocol.
"""
