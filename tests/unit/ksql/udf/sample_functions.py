"""User-defined functions for tests."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, TypeVar

from duolog import udaf, udf, udtf

T = TypeVar("T")


@dataclass
class Place:
    lat: float
    lon: float | None


@udf
def score(name: str, times: int = 3) -> int:
    """Counts the letters of a name,
    several times.

    The reason is unknown.
    """
    return len(name) * times


@udf(name="score", category="nature")
def score_of_place(place: Place) -> Place:
    return Place(place.lat + 1, None)


@udf
def pick(items: list[T], at: int | None) -> T:
    return items[at or 0]


@udf
def total(*numbers: float) -> float:
    return sum(numbers)


@udf
def half(amount: Decimal) -> Annotated[Decimal, "DECIMAL(10,2)"]:
    return amount / 2


@udf
def kinds(first: int, *others: object) -> str:
    return " ".join(type(one).__name__ for one in (first, *others))


@udf
def widest(amounts: dict[str, list[Decimal]]) -> str:
    return max((str(one) for some in amounts.values() for one in some), key=len)


@udf
def shown(value: str | None) -> str:
    return "nothing" if value is None else value


@udf
def inverse(value: int) -> float:
    return 1 / value


@udf
def later(at: dt.datetime, clock: dt.time) -> dt.datetime:
    return at + dt.timedelta(hours=clock.hour, minutes=clock.minute)


@udf
def wrong(value: int) -> str:
    return value  # type: ignore[return-value] # It says what it does not do.


@udtf
def words(*texts: str) -> Iterator[str]:
    for text in texts:
        yield from text.split()


@udtf
def corners(place: Place) -> list[Place]:
    return [place, Place(-place.lat, place.lon)]


@udaf
class Mean:
    """The mean, times a factor."""

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def initialize(self) -> Place:
        return Place(0.0, 0.0)

    def aggregate(self, kept: Place, value: float) -> Place:
        if value == 13:
            raise ValueError("13 is bad luck")
        return Place(kept.lat + value, (kept.lon or 0) + 1)

    def undo(self, kept: Place, value: float) -> Place:
        return Place(kept.lat - value, (kept.lon or 0) - 1)

    def merge(self, one: Place, other: Place) -> Place:
        return Place(one.lat + other.lat, (one.lon or 0) + (other.lon or 0))

    def map(self, kept: Place) -> float | None:
        return self.factor * kept.lat / kept.lon if kept.lon else None


@udaf
class Owed:
    """A sum of amounts, exact."""

    def initialize(self) -> Decimal:
        return Decimal(0)

    def aggregate(self, kept: Decimal, value: Decimal) -> Decimal:
        return kept + value

    def merge(self, one: Decimal, other: Decimal) -> Decimal:
        return one + other


@udaf
class Longest:
    def initialize(self) -> str:
        return ""

    def aggregate(self, kept: str, value: str) -> str:
        return max(kept, value, key=len)


def undecorated(value: int) -> int:
    return -value
