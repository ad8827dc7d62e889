"""Check the results that a reader found in topics by the input alone: each result once, in order, none missing.

    events (as stored in the input topic) ──────┬─ passed    one result for each event
                                                ├─ counted   for each account 1, 2, 3 … and the sum so far
                                                └─ branches  the last row of each branch

This module knows nothing of Duolog, of Kafka or of how something was written: it takes events and
results, and returns anomalies as text, the first one first. `test_history.py` has a bad history for each
kind.

    kind            what it is
    missing         an event without its result, a skipped count, a missing last row
    duplicate       a result twice
    invented        a result of no event
    wrong           a result of an event that differs from the expected one
    out of order    results of one input partition, or counts of one account, that go back
    split           results of one key in two partitions
    disagreement    two sinks that were written together contain different events
    went back       an epoch that is lower than one that was seen before
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Kind = Literal[
    "missing",
    "duplicate",
    "invented",
    "wrong",
    "out of order",
    "split",
    "disagreement",
    "went back",
]
# What at least once allows: a result again, also with the counts before it. Nothing is missing, and
# nothing is wrong.
OF_AT_LEAST_ONCE: Final = frozenset({"duplicate", "out of order", "disagreement"})


class Event(NamedTuple):
    """A record of the input topic."""

    number: int
    account: str
    amount: int
    partition: int = 0
    offset: int = 0


class Passed(NamedTuple):
    """A result that is of one event."""

    number: int
    account: str
    amount: int
    partition: int
    offset: int


class Counted(NamedTuple):
    """A row of the table of accounts: how many events there were so far, and their sum."""

    account: str
    events: int
    total: int
    partition: int
    offset: int


class Epoch(NamedTuple):
    """Epochs seen at one time: that of the marker among the results, and that of Spark's commit log; -1 before the first."""

    marked: int
    committed: int


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A violation of the guarantees."""

    kind: Kind
    topic: str
    text: str

    def __str__(self) -> str:
        return f'{self.kind} in "{self.topic}": {self.text}'


def check_passed(
    events: Sequence[Event], results: Sequence[Passed], topic: str = "passed"
) -> Iterator[Anomaly]:
    """Each event has passed once, unchanged; those of one input partition in their order."""
    by_number = {event.number: event for event in events}
    places: dict[int, list[Passed]] = defaultdict(list)
    for result in results:
        event = by_number.get(result.number)
        if event is None:
            yield Anomaly(
                "invented", topic, f"event {result.number} {_at([result])} was never sent"
            )
            continue
        if (event.account, event.amount) != (result.account, result.amount):
            text = f"{_event(event)} came out as {result.account}, {result.amount} {_at([result])}"
            yield Anomaly("wrong", topic, text)
        places[result.number].append(result)
    for number, found in places.items():
        if len(found) > 1:
            text = f"{_event(by_number[number])} is there {len(found)} times, {_at(found)}"
            yield Anomaly("duplicate", topic, text)
        if len({result.partition for result in found}) > 1:
            text = f"results of event {number} are in several partitions, {_at(found)}"
            yield Anomaly("split", topic, text)
    for event in events:
        if event.number not in places:
            yield Anomaly("missing", topic, f"{_event(event)} has no result")
    yield from _order_of_passed(by_number, results, topic)


def _order_of_passed(
    events: Mapping[int, Event], results: Iterable[Passed], topic: str
) -> Iterator[Anomaly]:
    newest: dict[tuple[int, int], tuple[Event, Passed]] = {}
    for result in results:
        event = events.get(result.number)
        if event is None:
            continue
        way = (event.partition, result.partition)
        before, place = newest.get(way, (event, result))
        if event.offset < before.offset:
            text = f"{_event(event)} {_at([result])} comes after {_event(before)} {_at([place])}"
            yield Anomaly("out of order", topic, text)
        else:
            newest[way] = (event, result)


def check_counted(
    events: Iterable[Event],
    results: Iterable[Counted],
    *,
    every_update: bool,
    topic: str = "counted",
) -> Iterator[Anomaly]:
    """The counts of each account ascend to the number of its events, each once, and the sums are of its amounts.

    With `every_update` no count is skipped, and the steps of the sum are the amounts.
    """
    amounts: dict[str, list[int]] = defaultdict(list)
    for event in events:
        amounts[event.account].append(event.amount)
    of_account: dict[str, list[Counted]] = defaultdict(list)
    for result in results:
        of_account[result.account].append(result)
    for account in of_account.keys() - amounts.keys():
        text = f'account "{account}" {_at(of_account[account])} has no events'
        yield Anomaly("invented", topic, text)
    for account, sent in amounts.items():
        found = of_account.get(account, [])
        yield from _check_account(account, sent, found, topic)
        if every_update:
            yield from _check_steps(account, sent, found, topic)


def _check_account(
    account: str, sent: Sequence[int], found: Sequence[Counted], topic: str
) -> Iterator[Anomaly]:
    if not found:
        yield Anomaly("missing", topic, f'account "{account}" of {len(sent)} events has no row')
        return
    if len({result.partition for result in found}) > 1:
        yield Anomaly("split", topic, f'account "{account}" is in several partitions, {_at(found)}')
    known: dict[int, Counted] = {}
    highest = found[0]
    for result in found:
        number, here = result.events, f'of account "{account}" {_at([result])}'
        if not 1 <= number <= len(sent):
            text = f"count {number} {here}, but it has {len(sent)} events"
            yield Anomaly("invented", topic, text)
        if (before := known.get(number)) is not None:
            text = f"count {number} {here} was there already, {_at([before])}"
            if before.total != result.total:
                # Events of several input partitions came in another order when they were read
                # again.
                text += f", with sum {before.total}, not {result.total}"
            yield Anomaly("duplicate", topic, text)
        elif number < highest.events:
            text = f"count {number} {here} comes after count {highest.events} {_at([highest])}"
            yield Anomaly("out of order", topic, text)
        known[number] = result
        highest = max(highest, result, key=lambda row: row.events)
    last = found[-1]
    if last.events < len(sent):
        text = f'account "{account}" ends at {last.events} {_at([last])}, but it has {len(sent)} events'
        yield Anomaly("missing", topic, text)
    elif last.events == len(sent) and last.total != sum(sent):
        text = f'the sum of account "{account}" is {last.total} {_at([last])}, not {sum(sent)}'
        yield Anomaly("wrong", topic, text)


def _check_steps(
    account: str, sent: Sequence[int], found: Sequence[Counted], topic: str
) -> Iterator[Anomaly]:
    """Whatever the order of events from several partitions was: each count is there, each step is an amount."""
    totals = {0: 0} | {result.events: result.total for result in found}
    left = Counter(sent)
    for count in range(1, len(sent) + 1):
        if count not in totals:
            text = f'count {count} of account "{account}" is not there, but {max(totals)} is'
            yield Anomaly("missing", topic, text)
            return
        step = totals[count] - totals[count - 1]
        if not left[step]:
            text = (
                f'count {count} of account "{account}" adds {step}, which no event of it has left'
            )
            yield Anomaly("wrong", topic, text)
            return
        left[step] -= 1


def check_last(
    expected: Mapping[str, object], found: Mapping[str, object], topic: str
) -> Iterator[Anomaly]:
    """The last rows are those of a replay of the input."""
    for key, row in expected.items():
        if key not in found:
            yield Anomaly("missing", topic, f'"{key}" has no row; a replay gives {row}')
        elif found[key] != row:
            text = f'the last row of "{key}" is {found[key]}; a replay gives {row}'
            yield Anomaly("wrong", topic, text)
    for key in found.keys() - expected.keys():
        yield Anomaly("invented", topic, f'"{key}" has the row {found[key]}; a replay gives none')


def check_agreement(
    passed: Iterable[Passed], counted: Iterable[Counted], topic: str = "passed and counted"
) -> Iterator[Anomaly]:
    """Check that sinks written together contain the same events, also if the input has not been read to its end."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for result in passed:
        numbers[result.account].add(result.number)
    last = {result.account: result.events for result in counted}
    for account in sorted(numbers.keys() | last.keys()):
        one, other = len(numbers[account]), last.get(account, 0)
        if one != other:
            text = f'{one} events of account "{account}" have passed, {other} are counted'
            yield Anomaly("disagreement", topic, text)


def check_epochs(seen: Sequence[Epoch], topic: str = "epochs") -> Iterator[Anomaly]:
    """Check that no epoch goes back, and that none is marked before the previous one is committed.

    An epoch without results has no marker; so the marker may lag by any number of epochs.
    """
    for before, after in itertools.pairwise(seen):
        for name, one, other in zip(Epoch._fields, before, after, strict=True):
            if other < one:
                yield Anomaly("went back", topic, f"{name} epoch {other} was seen after {one}")
    for epoch in seen:
        if epoch.marked > epoch.committed + 1:
            text = f"results of epoch {epoch.marked} are there, and Spark has committed {epoch.committed}"
            yield Anomaly("disagreement", topic, text)


def _event(event: Event) -> str:
    return f'event {event.number} of account "{event.account}" (input {event.partition}, offset {event.offset})'


def _at(results: Sequence[Passed | Counted]) -> str:
    return "at " + " and ".join(f"{result.partition}:{result.offset}" for result in results[:3])
