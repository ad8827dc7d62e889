"""The group coordinator on the broker: its log `__consumer_offsets`, its timers, its answers.

Start reading at `coordinator_service`; what it decides is in `duolog.coordinator`, which does no
I/O. Kafka: `GroupCoordinatorService`.
"""
