"""Functions for readings.sql: scalar functions, a table function, and an aggregate function."""

from collections.abc import Iterator
from dataclasses import dataclass

from duolog import udaf, udf, udtf


@udf
def celsius(fahrenheit: float) -> float:
    """Converts a temperature to degrees Celsius."""
    return round((fahrenheit - 32) / 1.8, 1)


@udf
def place(room: str | None, floor: int = 0) -> str:
    """Returns the location of a sensor; without a room it is in the hall."""
    return f"{room or 'hall'}/{floor}"


@udtf
def samples(text: str) -> Iterator[float]:
    """Returns a row for each number in a text, ignoring everything else."""
    for word in text.split():
        try:
            yield float(word)
        except ValueError:
            continue


@dataclass
class Extremes:
    """The smallest and the largest value so far; None without values."""

    least: float | None = None
    greatest: float | None = None


@udaf
class Spread:
    """Returns the difference between the largest and the smallest value of a group."""

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
