"""Consumer groups as a replayed state machine: no socket, no disk, no clock, no thread.

The input is a request and the current time. The output is an `Outcome`: replies that can be sent at
once, records for `__consumer_offsets`, and replies that can be sent when those records are durable.
The broker appends, replays, then replies. Durable state changes only in `GroupCoordinator.replay`,
so that a restart is the same replay. State that a group loses in a crash (waiting members of a
rebalance, deadlines) is soft state, as in Kafka.

Groups of the classic protocol are in this folder, those of the new protocol (KIP-848) in
`consumer_groups/`; `any_group.py` is their common base class.

May import `record`, `protocol`, `core`. Start with `coordinator.py`, then `group.py` and
`rebalance.py`; `records.py` has the formats on disk.

Source: Kafka `org.apache.kafka.coordinator.group`, the classic protocol.
"""
