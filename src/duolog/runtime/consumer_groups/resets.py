"""New offsets of a reset, as `duolog groups reset` and Kafka's tool compute them.

    earliest, latest     the first retained record; the end
    offset               this offset
    time                 the first record at or after a time; the end if there is none
    duration             the same, counted back from now
    shift                the committed offset moved by a number of records
    current              the committed offset

An offset out of range is replaced by the nearest retained one.

Source: Kafka `ConsumerGroupCommand.prepareOffsetsToReset`; KIP-122.
"""

import shlex
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from confluent_kafka.admin import OffsetSpec

from duolog.runtime.consumer_groups.cluster_groups import Offsets
from duolog.runtime.consumer_groups.lags import KnownPositions
from duolog.runtime.consumer_groups.metadata import Place
from duolog.runtime.consumer_groups.positions import EARLIEST, LATEST

_SECOND_MS: Final = 1000


class To(Enum):
    """The kind of a target."""

    EARLIEST = "earliest"
    LATEST = "latest"
    CURRENT = "current"
    OFFSET = "offset"
    TIME = "time"
    DURATION = "duration"
    SHIFT = "shift"


class Target(NamedTuple):
    """The target of a reset.

    Attributes:
        number: the offset, the time in ms since 1970, the duration in ms, or the number of records;
            0 for the other kinds.
    """

    to: To
    number: int = 0


class Scope(NamedTuple):
    """A topic, or some of its partitions; all of them if none is named."""

    topic: str
    partitions: tuple[int, ...] = ()


class Move(NamedTuple):
    """The change of one partition.

    Attributes:
        old: the committed offset; None without one.
        new: the offset after the reset.
        end: the log end offset.
        limited: True if the wanted offset was out of range.
    """

    place: Place
    old: int | None
    new: int
    end: int
    limited: bool


class Moves(NamedTuple):
    """The changes of a reset, sorted.

    Attributes:
        unchanged: partitions without a committed offset, which `shift` and `current` need; and
            those of which no broker reports the offsets.
    """

    moves: list[Move]
    unchanged: list[Place]


def moves_of(
    target: Target,
    places: Collection[Place],
    old: Mapping[Place, int],
    positions: KnownPositions,
    now_ms: int,
) -> Moves:
    """Return what a reset changes; raises as `Positions.offsets`."""
    first = positions.offsets(places, EARLIEST)
    last = positions.offsets(places, LATEST)
    wanted = _wanted(target, places, old, first, last)
    at_ms = time_of(target, now_ms)
    if at_ms is not None:
        found = positions.offsets(places, OffsetSpec.for_timestamp(at_ms))
        wanted = {
            place: last[place] if offset < 0 else offset
            for place, offset in found.items()
            if place in last
        }
    moves = []
    for place in sorted(wanted.keys() & first.keys() & last.keys()):
        new = min(max(wanted[place], first[place]), last[place])
        limited = new != wanted[place]
        moves.append(Move(place, old.get(place), new, last[place], limited))
    return Moves(moves, sorted(set(places) - {move.place for move in moves}))


def time_of(target: Target, now_ms: int) -> int | None:
    """Return the time in ms that a target means; None if it means none.

    Example:
        >>> time_of(Target(To.DURATION, 1_000), 5_000), time_of(Target(To.LATEST), 5_000)
        (4000, None)
    """
    match target.to:
        case To.TIME:
            return target.number
        case To.DURATION:
            return max(0, now_ms - target.number)
        case _:
            return None


def _wanted(
    target: Target,
    places: Collection[Place],
    old: Mapping[Place, int],
    first: Offsets,
    last: Offsets,
) -> Offsets:
    match target.to:
        case To.EARLIEST:
            return first
        case To.LATEST:
            return last
        case To.OFFSET:
            return dict.fromkeys(places, target.number)
        case To.CURRENT | To.SHIFT:
            shift = target.number if target.to is To.SHIFT else 0
            return {place: old[place] + shift for place in places if place in old}
        case _:
            return {}


def command_of(group: str, scopes: Collection[Scope], target: Target, servers: str) -> str:
    """Return the equivalent command for a shell.

    Example:
        >>> command_of("a b", [Scope("orders", (0, 1))], Target(To.SHIFT, -5), "h:9092")
        "duolog groups reset 'a b' -b h:9092 --topic orders:0,1 --shift-by -5"
        >>> command_of("g", [], Target(To.TIME, 1_357_035_300_000), "h:9092")
        'duolog groups reset g -b h:9092 --all-topics --to-time 2013-01-01T10:15:00.000+00:00'
    """
    words = ["duolog", "groups", "reset", group, "-b", servers]
    for scope in scopes:
        numbers = ",".join(map(str, scope.partitions))
        words += ["--topic", f"{scope.topic}:{numbers}" if numbers else scope.topic]
    words += [] if scopes else ["--all-topics"]
    match target.to:
        case To.EARLIEST | To.LATEST | To.CURRENT:
            words.append(f"--to-{target.to.value}")
        case To.OFFSET:
            words += ["--to-offset", str(target.number)]
        case To.TIME:
            words += ["--to-time", _moment(target.number)]
        case To.DURATION:
            words += ["--by-duration", f"PT{target.number / _SECOND_MS:g}S"]
        case To.SHIFT:
            words += ["--shift-by", str(target.number)]
    return shlex.join(words)


def _moment(time_ms: int) -> str:
    """Return a time in RFC 3339, or in ms if it is out of range for a date."""
    try:
        return datetime.fromtimestamp(time_ms / _SECOND_MS, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return str(time_ms)
