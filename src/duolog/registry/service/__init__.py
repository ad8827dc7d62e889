"""One running registry: its copy of the state, its part in the leadership, and its answers.

    replica.py      the state as of a position in the topic
    leadership.py   becomes and stays the only writer of the topic
    service.py      answers calls from the replica, or by writing, or by asking the leader
    operations.py   what each endpoint asks of the rules

Everything runs on one event loop, so that neither the state nor the rules need a lock. What blocks
(Kafka clients, HTTP to the leader, scrypt) has threads of its own.
"""
