"""Functions for readings.sql: one for each row, one that makes rows, and one over a group."""

from collections.abc import Iterator
from dataclasses import dataclass

from duolog import udaf, udf, udtf


@udf
def celsius(fahrenheit: float) -> float:
    """Gives a temperature in degrees Celsius."""
    return round((fahrenheit - 32) / 1.8, 1)


@udf
def place(room: str | None, floor: int = 0) -> str:
    """Says where a sensor is; one that has no room is in the hall."""
    return f"{room or 'hall'}/{floor}"


@udtf
def samples(text: str) -> Iterator[float]:
    """Makes a row of each number in a text; what is no number is none."""
    for word in text.split():
        try:
            yield float(word)
        except ValueError:
            continue


@dataclass
class Extremes:
    """The least and the greatest value so far; None of no values."""

    least: float | None = None
    greatest: float | None = None


@udaf
class Spread:
    """Gives how far the greatest value of a group is from the least."""

    def initialize(self) -> Extremes:
        return Extremes()

    def aggregate(self, kept: Extremes, value: float) -> Extremes:
        return self.merge(kept, Extremes(value, value))

    def merge(self, one: Extremes, other: Extremes) -> Extremes:
        if one.least is None or one.greatest is None:
            return other
        if other.least is None or other.greatest is None:
            return one
        return Extremes(min(one.least, other.least), max(one.greatest, other.greatest))

    def map(self, kept: Extremes) -> float | None:
        if kept.least is None or kept.greatest is None:
            return None
        return round(kept.greatest - kept.least, 1)
