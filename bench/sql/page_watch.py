"""Long tasks, heap and DOM nodes of a page in Chromium, for loads of the console.

A long task keeps the page from answering for more than 50 ms: the browser reports its duration in
wall time, so that it also grows with the load of the machine. The processor time of the page's main
thread does not: no task between two moments took more of it than passed between them. The heap is
measured after a garbage collection. Collections that `memory` requests are not part of the long
tasks.

Source: W3C Long Tasks API; Chrome DevTools Protocol, domains HeapProfiler, Memory, Performance and
Runtime.
"""

import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from confluent_kafka import Producer

if TYPE_CHECKING:
    from playwright.sync_api import Page

_OBSERVE: Final = """() => {
  window.longTasks = window.longTasks ?? [];
  window.longTaskObserver = new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.longTasks.push(Math.round(one.duration));
  });
  window.longTaskObserver.observe({ type: "longtask" });
}"""
_PAUSE: Final = """() => {
  for (const one of window.longTaskObserver?.takeRecords() ?? []) {
    window.longTasks.push(Math.round(one.duration));
  }
  window.longTaskObserver?.disconnect();
}"""
_TICKS_PER_S: Final = 10
_FLUSH_S: Final = 120.0


class Memory(NamedTuple):
    """Memory of a page after a garbage collection."""

    heap_bytes: int
    nodes: int


class PageWatch:
    """Observes a page from its creation on, until the page is loaded again."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")
        page.evaluate(_OBSERVE)

    def thread_ms(self) -> float:
        """Return the processor time of the page's main thread since it started."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        seconds = next(one["value"] for one in metrics if one["name"] == "ThreadTime")
        return float(seconds) * 1000

    def long_tasks_ms(self) -> list[int]:
        """Return the durations of all long tasks so far."""
        self._page.evaluate(_PAUSE)
        found: list[int] = self._page.evaluate("() => window.longTasks")
        self._page.evaluate(_OBSERVE)
        return found

    def memory(self) -> Memory:
        """Collect garbage; return what is left."""
        self._page.evaluate(_PAUSE)
        self._session.send("HeapProfiler.collectGarbage")
        heap = int(self._session.send("Runtime.getHeapUsage")["usedSize"])
        nodes = int(self._session.send("Memory.getDOMCounters")["nodes"])
        self._page.evaluate(_OBSERVE)
        return Memory(heap, nodes)


class Flood(threading.Thread):
    """Writes records to a topic at a constant rate.

    Attributes:
        written: records that have been given to the client so far.
        late_s: the longest delay of a tenth of a second's records.
    """

    def __init__(self, bootstrap: str, topic: str, *, seconds: int, per_s: int) -> None:
        super().__init__(name=f"flood of {topic}")
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
        self._topic = topic
        self._ticks = seconds * _TICKS_PER_S
        self._per_tick = per_s // _TICKS_PER_S
        self._ended = threading.Event()
        self.written = 0
        self.late_s = 0.0

    def run(self) -> None:
        began = time.monotonic()
        note = "x" * 60
        for tick in range(self._ticks):
            for number in range(self._per_tick):
                value = f'{{"N": {self.written}, "NOTE": "{note}"}}'
                self._producer.produce(self._topic, value, f"k{number}")
                self.written += 1
            self._producer.poll(0)
            wait_s = began + (tick + 1) / _TICKS_PER_S - time.monotonic()
            self.late_s = max(self.late_s, -wait_s)
            if self._ended.wait(max(0.0, wait_s)):
                break
        self._producer.flush(_FLUSH_S)

    def stop(self) -> None:
        """End early, and wait until the records are written."""
        self._ended.set()
        self.join()
