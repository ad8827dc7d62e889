"""Run a schema registry and a SQL server over the brokers of another cluster, as one command."""

import signal
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from duolog.runtime.server_of_broker import ServersOfBroker


def run_over_brokers(servers: "ServersOfBroker", bootstrap_servers: str) -> int:
    """Run servers until Ctrl-C or SIGTERM, or until one does not start; return the exit status."""
    # A handler may interrupt this thread while it holds a lock; SimpleQueue.put needs none.
    ends: SimpleQueue[int] = SimpleQueue()

    def on_signal(_number: int, _frame: "FrameType | None") -> None:
        ends.put(0)

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    servers.start(bootstrap_servers, lambda: ends.put(1))
    try:
        return ends.get()
    finally:
        servers.stop()
