"""The transaction coordinator on the broker: its log, markers, producer ids.

Start reading at `coordinator_service`; what it decides is in `duolog.coordinator`, which does no
I/O. Kafka: `TransactionCoordinator`, `TransactionMarkerChannelManager`.
"""
