"""Consumer groups as a replayed state machine: no socket, no disk, no clock, no thread.

A request and the moment go in; an `Outcome` comes out: replies that may leave at once, records for
`__consumer_offsets`, and replies that may leave when those records are durable. The broker appends,
replays, then replies. Durable state changes in `GroupCoordinator.replay` only, so that a restart is
the same replay. What a group forgets in a crash (who waits in a rebalance, deadlines) is soft
state, as in Kafka.

Groups of the classic protocol are in this folder, those of the new one (KIP-848) in
`consumer_groups/`; `any_group.py` is what they have in common.

May import `record`, `protocol`, `core`. Start with `coordinator.py`, then `group.py` and
`rebalance.py`; `records.py` holds the forms on disk.

Source: Kafka `org.apache.kafka.coordinator.group`, the classic protocol.
"""
