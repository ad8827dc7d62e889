"""The embedded broker: Kafka's protocol over partition logs, one thread, one epoll loop.

    event_loop ── network ── router ── apis/kNN_*.py ──┬── produce, fetch, topics ── log
                     │                                 ├── groups, transactions ── coordinator
                     └ answers leave in order          └── configs, cleaning

Each room (sub-package) says in its docstring what it does and where to start reading; a room
imports only rooms below it. Start reading at `produce.rounds` (how a burst of produce requests
becomes one write and one fsync), then `network.connection`, then any file of `apis/`. Imports
`coordinator`, `log`, `protocol` and what is below; starting it needs no JVM and loads a message
schema only when a request needs it.
"""
