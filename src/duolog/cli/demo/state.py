"""Current figures of the demo, for the screen and for `--json`."""

import time
from collections.abc import Mapping
from typing import NamedTuple

from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.tables import LiveTables


class DemoState(NamedTuple):
    """Figures of the demo at one moment, with latencies of the last ten seconds."""

    elapsed_s: float
    mode: str
    state: str
    events: int
    produced: int
    total: int
    live: bool
    events_per_second: float
    lag: int
    p50_ms: int | None
    p99_ms: int | None

    def as_json(self) -> Mapping[str, object]:
        return self._asdict() | {
            "elapsed_s": round(self.elapsed_s, 3),
            "events_per_second": round(self.events_per_second, 1),
        }


def observe(
    tables: LiveTables, load: FlightLoad, *, started_at: float, mode: str, state: str
) -> DemoState:
    """Return the current figures."""
    events, now_s = tables.events, time.time()
    return DemoState(
        elapsed_s=time.monotonic() - started_at,
        mode=mode,
        state=state,
        events=events,
        produced=load.produced,
        total=load.total,
        live=tables.live,
        events_per_second=tables.events_per_second(),
        lag=max(0, load.produced - events),
        p50_ms=tables.latencies.recent(50, now_s),
        p99_ms=tables.latencies.recent(99, now_s),
    )
