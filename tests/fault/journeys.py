"""A topology under attack, its events from a seed, and the same tables computed in one batch.

    flights ─▶ key carrier ─▶ left join airlines ─┬─▶ by carrier ─▶ by_airline
                                                  └─▶ by dest    ─▶ by_dest
    people (a table: who is where) ─────────────────▶ by city    ─▶ by_city      (with undo)

No result depends on how flights and people interleave, as long as the airlines come first. So every
mode, after whatever crash, has to end with exactly the tables of the batch.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from duolog import Topology, avg, col, count, max_, sum_

SOURCES = {"flights": 2, "airlines": 1, "people": 2}
TASKS = 2
RESULTS = ("by_airline", "by_dest", "by_city")
CARRIERS = ("UA", "AA", "DL", "B6", "WN", "XX")
DESTINATIONS = tuple(f"D{number:02}" for number in range(40))
CITIES = tuple(f"city {number}" for number in range(12))
PEOPLE = 300
START_MS = 1_357_000_000_000

# by result topic, by key: (timestamp, row)
Tables = dict[str, dict[str, tuple[int, dict[str, Any]]]]


class Event(NamedTuple):
    topic: str
    key: str
    value: dict[str, Any] | None
    timestamp_ms: int

    @property
    def value_bytes(self) -> bytes | None:
        return None if self.value is None else json.dumps(self.value).encode()


def topology(prefix: str) -> Topology:
    """Return the topology, with all its names after `prefix`."""
    made = Topology(f"{prefix}journeys")
    flights = made.stream(
        f"{prefix}flights",
        key="id STRING",
        value="carrier STRING, dest STRING, delay BIGINT",
    )
    airlines = made.table(f"{prefix}airlines", key="code STRING", value="name STRING")
    people = made.table(f"{prefix}people", key="person STRING", value="city STRING")

    joined = flights.left_join(airlines, on="carrier")
    joined.group_by_key().aggregate(
        name=max_("name"),
        flights=count(),
        delays=count(col("delay")),
        mean=avg("delay"),
        worst=max_("delay"),
    ).to(f"{prefix}by_airline")
    joined.group_by("dest").aggregate(flights=count(), total=sum_("delay")).to(f"{prefix}by_dest")
    people.group_by("city").count("people").to(f"{prefix}by_city")
    return made


def airlines() -> list[Event]:
    """Return the table that is there before the first flight; one carrier is not in it."""
    return [
        Event("airlines", code, {"name": f"{code} Inc"}, START_MS - 1000 + index)
        for index, code in enumerate(CARRIERS[:-1])
    ]


def events(random: Random) -> Iterator[Event]:
    """Yield flights and people on the move, without end."""
    number = 0
    while True:
        number += 1
        timestamp_ms = START_MS + number + random.randrange(-500, 500)
        if random.random() < 0.7:
            yield _flight(number, timestamp_ms, random)
        else:
            gone = random.random() < 0.1
            value = None if gone else {"city": random.choice(CITIES)}
            yield Event("people", f"p{random.randrange(PEOPLE)}", value, timestamp_ms)


def _flight(number: int, timestamp_ms: int, random: Random) -> Event:
    delay = None if random.random() < 0.1 else random.randrange(-20, 200)
    value = {
        "carrier": random.choice(CARRIERS),
        "dest": random.choice(DESTINATIONS),
        "delay": delay,
    }
    return Event("flights", f"f{number}", value, timestamp_ms)


@dataclass(slots=True)
class _Group:
    flights: int = 0
    delays: list[int] = field(default_factory=list)
    timestamp_ms: int = -1


def computed_in_one_batch(sent: Iterable[Event]) -> Tables:
    """Return what the result tables must hold after these events."""
    by_airline: dict[str, _Group] = defaultdict(_Group)
    by_dest: dict[str, _Group] = defaultdict(_Group)
    people = []
    for event in sent:
        if event.topic == "people":
            people.append(event)
        elif event.value is not None:
            for group in (by_airline[event.value["carrier"]], by_dest[event.value["dest"]]):
                group.flights += 1
                group.timestamp_ms = max(group.timestamp_ms, event.timestamp_ms)
                if event.value["delay"] is not None:
                    group.delays.append(event.value["delay"])
    return {
        "by_airline": {
            carrier: (group.timestamp_ms, _airline_row(carrier, group))
            for carrier, group in by_airline.items()
        },
        "by_dest": {
            dest: (
                group.timestamp_ms,
                {"flights": group.flights, "total": sum(group.delays) if group.delays else None},
            )
            for dest, group in by_dest.items()
        },
        "by_city": _people_by_city(people),
    }


def _airline_row(carrier: str, group: _Group) -> dict[str, Any]:
    delays = group.delays
    return {
        "name": None if carrier == CARRIERS[-1] else f"{carrier} Inc",
        "flights": group.flights,
        "delays": len(delays),
        "mean": sum(delays) / len(delays) if delays else None,
        "worst": max(delays, default=None),
    }


def _people_by_city(moves: Iterable[Event]) -> dict[str, tuple[int, dict[str, Any]]]:
    home: dict[str, str] = {}
    touched: dict[str, int] = {}
    for move in moves:
        before = home.pop(move.key, None)
        after = None if move.value is None else move.value["city"]
        if after is not None:
            home[move.key] = after
        for city in (before, after):
            if city is not None:
                touched[city] = max(touched.get(city, -1), move.timestamp_ms)
    living = list(home.values())
    return {city: (at, {"people": living.count(city)}) for city, at in touched.items()}
