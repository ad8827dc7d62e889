"""The state of a running query, as its threads share it.

    starting ─▶ catching-up ─(lag small)─▶ running ─▶ stopped
                    │  ▲ again while it lags  │
                    └──┘                      ├────▶ failed
                 restarting ◀─(may pass)──────┘

Thread rule: the thread that waits for Spark changes the state; any thread may read it or stop the
query.
"""

import threading
from dataclasses import dataclass, field
from typing import Literal

from duolog.engine.errors import QueryFailed

State = Literal["starting", "catching-up", "running", "restarting", "stopped", "failed"]


@dataclass(slots=True)
class Lifecycle:
    """The state of one query."""

    state: State = "starting"
    trouble: str = ""
    """The reason for the next start, while the state is `restarting`."""
    failure: QueryFailed | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set once the query is to stop: no Spark query starts any more."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set once no part of the query runs any more."""
