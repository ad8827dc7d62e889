"""Produce events at a steady rate, each with the time at which it was passed to the producer.

    {"user": "key-0000042", "place": "place-2", "n": 17, "at": 1700000000123, "sent_at":
    1700000000123.4}

Thread: `SteadyLoad` is a thread; other threads read its attributes.
"""

import json
import random
import threading
import time
from typing import Final

from confluent_kafka import Producer

PLACES: Final = 20
_SLOW_RATE: Final = 5_000
"""Up to this many events/s, records are sent without delay; above it, they are batched."""


class SteadyLoad(threading.Thread):
    """Writes `rate` events/s for `seconds` seconds with librdkafka."""

    def __init__(self, servers: str, topic: str, *, rate: float, seconds: float, keys: int) -> None:
        super().__init__(name="steady-load", daemon=True)
        self.total = int(rate * seconds)
        self.produced = 0
        self._topic = topic
        self._rate = rate
        self._keys = keys
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "log_level": 0,
                "partitioner": "murmur2_random",
                "linger.ms": 0 if rate <= _SLOW_RATE else 5,
            }
        )

    def run(self) -> None:
        rng = random.Random(self._keys)  # noqa: S311 - nothing secret
        started = time.monotonic()
        while self.produced < self.total:
            due = min(self.total, int((time.monotonic() - started) * self._rate) + 1)
            while self.produced < due:
                self._send(rng.randrange(self._keys))
                self.produced += 1
            self._producer.poll(0)
            early = started + self.produced / self._rate - time.monotonic()
            time.sleep(max(early, 0.001))
        self._producer.flush(30)

    def _send(self, key: int) -> None:
        sent_at = time.time() * 1000
        event = event_of(key, self.produced, int(sent_at), sent_at)
        self._producer.produce(
            self._topic, json.dumps(event), str(event["user"]), timestamp=int(sent_at)
        )


def event_of(key: int, number: int, at_ms: int, sent_at: float) -> dict[str, str | float]:
    """Return an event; `at` is its timestamp, `sent_at` the time at which it was sent."""
    return {
        "user": f"key-{key:07}",
        "place": f"place-{key % PLACES}",
        "n": number % 100,
        "at": at_ms,
        "sent_at": round(sent_at, 3),
    }
