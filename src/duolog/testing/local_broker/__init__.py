"""A broker for tests of Kafka programs: in its own process, with faults and a clock to move.

    test process                            broker process
    LocalBroker ──── a line of JSON ──────▶ Controls ──▶ clock, disk, connections, event loop
    Scratch     ◀─── a line of JSON ──────

`LocalBroker` is what tests hold. `program` is what the other process runs. `faults` is what it
replaces in the broker. `scratch` keeps data in temporary directories that never outlive a run.
"""

from duolog.testing.local_broker.local_broker import LocalBroker, broker

__all__ = ["LocalBroker", "broker"]
