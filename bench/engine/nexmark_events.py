"""Generate the events of NEXMark, an online auction, from its public definition.

    of 50 events  1 person, 3 auctions, 46 bids; one event each millisecond; ids rise by one
    hot           among a hundred: 3 of 4 auctions have the latest seller, 3 of 4 bids the
                  latest bidder; every second bid is for the latest auction
    prices        ten to a random power up to six, times 100
    categories    five, from 10 on

Fields that no query reads are omitted: e-mail, credit card, description, URL and padding. The
events depend only on their number.
"""

import json
import random
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

BEGIN_MS: Final = 1_700_000_000_000 // 3_600_000 * 3_600_000
FIRST_ID: Final = 1000
EVENTS_IN_TURN: Final = 50
AUCTIONS_IN_TURN: Final = 3
OPEN_AUCTIONS: Final = 100
HOT_EVERY: Final = 100
STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES: Final = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond")
FIRST_NAMES: Final = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah")
LAST_NAMES: Final = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones")
CHANNELS: Final = ("apple", "google", "facebook", "baidu")

SCHEMAS: Final = {
    "people": ("id", "name STRING, city STRING, state STRING, date_time BIGINT"),
    "auctions": (
        "id",
        (
            "item STRING, initial_bid BIGINT, reserve BIGINT, date_time BIGINT, expires BIGINT, "
            "seller BIGINT, category BIGINT"
        ),
    ),
    "bids": ("auction", "bidder BIGINT, price BIGINT, channel STRING, date_time BIGINT"),
}
"""Key column (a BIGINT) and value of each topic."""


class Event(NamedTuple):
    """A record of one of the three topics."""

    topic: str
    id: int
    value: dict[str, str | int]
    at_ms: int

    @property
    def key(self) -> bytes:
        return struct.pack(">q", self.id)

    @property
    def json(self) -> str:
        return json.dumps(self.value)


def events_of(count: int) -> Iterator[Event]:
    """Yield `count` events in time order."""
    rng = random.Random(50)  # noqa: S311 - nothing secret
    for number in range(count):
        turn, place = divmod(number, EVENTS_IN_TURN)
        at_ms = BEGIN_MS + number
        people = turn + 1
        if place == 0:
            yield Event("people", FIRST_ID + turn, _person(rng, at_ms), at_ms)
        elif place <= AUCTIONS_IN_TURN:
            auction = turn * AUCTIONS_IN_TURN + place - 1
            yield Event("auctions", FIRST_ID + auction, _auction(rng, at_ms, people), at_ms)
        else:
            auctions = (turn + 1) * AUCTIONS_IN_TURN
            auction = _hot(auctions) if rng.random() < 0.5 else _recent(rng, auctions)
            yield Event("bids", FIRST_ID + auction, _bid(rng, at_ms, people), at_ms)


def _person(rng: random.Random, at_ms: int) -> dict[str, str | int]:
    return {
        "name": f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}",
        "city": rng.choice(CITIES),
        "state": rng.choice(STATES),
        "date_time": at_ms,
    }


def _auction(rng: random.Random, at_ms: int, people: int) -> dict[str, str | int]:
    initial_bid = _price(rng)
    # Lasts until this many new auctions have arrived, on average.
    lasts_ms = 1 + rng.randrange(2 * OPEN_AUCTIONS * EVENTS_IN_TURN // AUCTIONS_IN_TURN)
    return {
        "item": f"item-{rng.randrange(1000)}",
        "initial_bid": initial_bid,
        "reserve": initial_bid + _price(rng),
        "date_time": at_ms,
        "expires": at_ms + lasts_ms,
        "seller": FIRST_ID + _someone(rng, people),
        "category": 10 + rng.randrange(5),
    }


def _bid(rng: random.Random, at_ms: int, people: int) -> dict[str, str | int]:
    return {
        "bidder": FIRST_ID + _someone(rng, people),
        "price": _price(rng),
        "channel": rng.choice(CHANNELS),
        "date_time": at_ms,
    }


def _price(rng: random.Random) -> int:
    return round(10 ** (rng.random() * 6) * 100)


def _someone(rng: random.Random, people: int) -> int:
    return _hot(people) if rng.random() < 0.75 else _recent(rng, people, 1000)


def _hot(count: int) -> int:
    return (count - 1) // HOT_EVERY * HOT_EVERY


def _recent(rng: random.Random, count: int, among: int = OPEN_AUCTIONS) -> int:
    return count - 1 - rng.randrange(min(count, among))
