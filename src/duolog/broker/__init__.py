"""The embedded broker: Kafka's protocol over partition logs, one thread, one epoll loop.

    loop ── connection ── router ── apis/kNN_*.py ── broker ── log
                │                                      │
                └ slots: answers leave in order        └ round: one write, one fsync for a burst

Start reading at `round` (how a burst of produce requests becomes one write and one fsync), then
`connection`, then any file of `apis/`. Imports `coordinator`, `log`, `protocol` and what is
below; starting it needs no JVM and loads a message schema only when a request needs it.
"""
