"""Consumer groups of the new protocol (KIP-848): the broker assigns, members report what they own.

    heartbeat ─▶ Draft ─▶ records ─▶ the log ─▶ ConsumerGroup.replay
                  │
                  ├─ subscription   what the members read: names and expressions
                  ├─ assignors      who shall own what (the target), when the group epoch moved
                  └─ reconcile      one member's next step towards the target: revoke before assign

A group is changed by `ConsumerGroup.replay` only. Unlike the classic groups' records, these are
replayed as soon as they are staged: the next heartbeat of the same round must see who owns what.
Replies wait until the records are durable.

May import `any_group`, `messages`, `records` and the packages below. Start with `coordinator.py`,
then `heartbeat.py` and `reconcile.py`.

Source: KIP-848; Kafka `GroupMetadataManager`, `org.apache.kafka.coordinator.group.modern.consumer`.
"""
