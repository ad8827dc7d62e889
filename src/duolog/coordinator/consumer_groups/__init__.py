"""Consumer groups of the new protocol (KIP-848): the broker assigns, members report partitions.

    heartbeat ─▶ Draft ─▶ records ─▶ the log ─▶ ConsumerGroup.replay
                  │
                  ├─ subscription   the topics of the members: names and expressions
                  ├─ assignors      compute the target assignment when the group epoch increases
                  └─ reconcile      one member's next step towards the target: revoke before assign

Only `ConsumerGroup.replay` changes a group. Unlike the records of classic groups, these are
replayed as soon as they are staged: the next heartbeat of the same round must see the assignments.
Replies wait until the records are durable.

May import `any_group`, `messages`, `records` and the packages below. Start with `coordinator.py`,
then `heartbeat.py` and `reconcile.py`.

Source: KIP-848; Kafka `GroupMetadataManager`, `org.apache.kafka.coordinator.group.modern.consumer`.
"""
