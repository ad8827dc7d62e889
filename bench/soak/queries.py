"""The twenty persistent queries of a soak run, each with its truth.

A truth is computed from the records that were produced, and has the form of what is read: a dict of
rows by key for a table, a multiset of rows for a stream.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.soak.events import Event, Produced, city_of

Rows = dict[tuple[Any, ...], tuple[Any, ...]]
Bag = Counter[tuple[Any, ...]]

SESSION_GAP_MS: Final = 1_000
PAIR_MS: Final = 1_000
BIG: Final = 500


@dataclass(frozen=True, slots=True)
class Query:
    """A persistent query.

    Attributes:
        name: the stream or table; in lower case.
        kind: stateless, aggregate, window or join.
        statement: the statement that creates it, or inserts into it.
        truth: what it must contain.
        columns: of a stream, the columns of the value, after the key; of a table, those of the
            key, then the others.
        keys: of a table, the number of key columns; 0 for a stream.
        once: the results are written exactly once, so that a stream has no row twice.
    """

    name: str
    kind: str
    statement: str
    truth: Callable[[Produced], Any]
    columns: tuple[str, ...]
    keys: int = 0
    once: bool = True


def _stream(
    name: str,
    kind: str,
    body: str,
    columns: str,
    rows: Callable[[Produced], Iterable[tuple[Any, ...]]],
    *,
    once: bool = True,
) -> Query:
    statement = f"CREATE STREAM {name} WITH (kafka_topic = '{name}') AS {body} EMIT CHANGES;"
    return Query(
        name, kind, statement, lambda made: Counter(rows(made)), tuple(columns.split()), once=once
    )


def _table(
    name: str,
    kind: str,
    body: str,
    columns: str,
    truth: Callable[[Produced], Rows],
    *,
    keys: int = 1,
) -> Query:
    statement = f"CREATE TABLE {name} WITH (kafka_topic = '{name}') AS {body} EMIT CHANGES;"
    return Query(name, kind, statement, truth, tuple(columns.split()), keys)


def by(
    records: Iterable[Event],
    key: Callable[[Event], Any],
    fold: Callable[[list[Event]], tuple[Any, ...]],
) -> Rows:
    """Return the rows of an aggregate; the key is a value or a tuple."""
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for one in records:
        found = key(one)
        groups[found if isinstance(found, tuple) else (found,)].append(one)
    return {name: fold(group) for name, group in groups.items()}


def hops(records: Iterable[Event], size_ms: int, advance_ms: int) -> Iterator[tuple[int, Event]]:
    """Yield each record with the start of each window that it is in."""
    for one in records:
        start = one.at_ms // advance_ms * advance_ms
        while start > one.at_ms - size_ms:
            yield start, one
            start -= advance_ms


def windowed(records: Iterable[Event], size_ms: int, advance_ms: int) -> Rows:
    """Return counts and sums of the items in each window."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for start, one in hops(records, size_ms, advance_ms):
        row = found[one.item, start]
        row[0] += 1
        row[1] += one.amount
    return {key: tuple(row) for key, row in found.items()}


def sessions(records: Iterable[Event]) -> Rows:
    """Return the number of records in each session of a user, by its start and end."""
    found: Rows = {}
    for usr, group in by(records, lambda one: one.usr, tuple).items():
        start = end = group[0].at_ms
        count = 0
        for one in group:
            if one.at_ms - end > SESSION_GAP_MS:
                found[(*usr, start, end)] = (count,)
                start, count = one.at_ms, 0
            end = one.at_ms
            count += 1
        found[(*usr, start, end)] = (count,)
    return found


def pairs(made: Produced) -> Iterator[tuple[Any, ...]]:
    """Yield each event with each click of the same user that is at most a second away."""
    clicks: dict[str, list[Event]] = defaultdict(list)
    for one in made.clicks:
        clicks[one.usr].append(one)
    first = dict.fromkeys(clicks, 0)
    for one in made.events:
        near = clicks.get(one.usr, [])
        at = first.get(one.usr, 0)
        while at < len(near) and near[at].at_ms < one.at_ms - PAIR_MS:
            at += 1
        first[one.usr] = at
        while at < len(near) and near[at].at_ms <= one.at_ms + PAIR_MS:
            yield one.usr, one.seq, near[at].seq
            at += 1


def big(made: Produced) -> list[Event]:
    return [one for one in made.events if one.amount >= BIG]


def known(made: Produced) -> list[Event]:
    return [one for one in made.events if city_of(one.usr) is not None]


def _count(group: list[Event]) -> tuple[Any, ...]:
    return (len(group),)


def _sums(group: list[Event]) -> tuple[Any, ...]:
    return len(group), sum(one.amount for one in group)


QUERIES: Final = (
    _stream(
        "big", "stateless", "SELECT usr, seq, amount FROM events WHERE amount >= 500", "SEQ AMOUNT",
        lambda made: ((one.usr, one.seq, one.amount) for one in big(made)),
    ),
    _stream(
        "loud", "stateless", "SELECT usr, seq, UCASE(item) AS item FROM events", "SEQ ITEM",
        lambda made: ((one.usr, one.seq, one.item.upper()) for one in made.events), once=False,
    ),
    _stream(
        "items", "stateless", "SELECT item, seq, usr FROM events PARTITION BY item", "SEQ USR",
        lambda made: ((one.item, one.seq, one.usr) for one in made.events),
    ),
    _stream(
        "levels", "stateless",
        "SELECT usr, seq, CASE WHEN amount > 700 THEN 'high' ELSE 'low' END AS level FROM events",
        "SEQ LEVEL",
        lambda made: ((o.usr, o.seq, "high" if o.amount > 700 else "low") for o in made.events),
        once=False,
    ),
    _stream(
        "merged", "stateless", "SELECT usr, seq, item AS thing FROM events", "SEQ THING",
        lambda made: ((one.usr, one.seq, one.item) for one in [*made.events, *made.clicks]),
    ),
    Query(
        "merged", "stateless", "INSERT INTO merged SELECT usr, seq, page AS thing FROM clicks;",
        lambda made: Counter((o.usr, o.seq, o.item) for o in [*made.events, *made.clicks]),
        ("SEQ", "THING"),
    ),
    _table(
        "by_user", "aggregate",
        "SELECT usr, COUNT(*) AS n, SUM(amount) AS total FROM events GROUP BY usr", "USR N TOTAL",
        lambda made: by(made.events, lambda one: one.usr, _sums),
    ),
    _table(
        "by_item", "aggregate",
        "SELECT item, COUNT(*) AS n, MIN(amount) AS low, MAX(amount) AS high FROM events "
        "GROUP BY item",
        "ITEM N LOW HIGH",
        lambda made: by(made.events, lambda one: one.item, lambda g: (
            len(g), min(one.amount for one in g), max(one.amount for one in g)
        )),
    ),
    _table(
        "clicks_by_user", "aggregate",
        "SELECT usr, COUNT(*) AS n, AVG(seq) AS mean FROM clicks GROUP BY usr", "USR N MEAN",
        lambda made: by(made.clicks, lambda one: one.usr, lambda g: (
            len(g), sum(one.seq for one in g) / len(g)
        )),
    ),
    _table(
        "big_by_user", "aggregate",
        "SELECT usr, COUNT(*) AS n, SUM(amount) AS total FROM big GROUP BY usr", "USR N TOTAL",
        lambda made: by(big(made), lambda one: one.usr, _sums),
    ),
    _table(
        "variety", "aggregate",
        "SELECT usr, COUNT_DISTINCT(item) AS n FROM events GROUP BY usr", "USR N",
        lambda made: by(made.events, lambda one: one.usr, lambda g: (len({o.item for o in g}),)),
    ),
    _table(
        "latest", "aggregate",
        "SELECT usr, LATEST_BY_OFFSET(seq) AS n FROM events GROUP BY usr", "USR N",
        lambda made: by(made.events, lambda one: one.usr, lambda group: (group[-1].seq,)),
    ),
    _table(
        "tens", "window",
        "SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM events "
        "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item",
        "ITEM WINDOWSTART N TOTAL", lambda made: windowed(made.events, 10_000, 10_000), keys=2,
    ),
    _table(
        "hours", "window",
        "SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM events "
        "WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item",
        "ITEM WINDOWSTART N TOTAL",
        lambda made: windowed(made.events, 3_600_000, 3_600_000), keys=2,
    ),
    _table(
        "hops", "window",
        "SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM events "
        "WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 10 SECONDS) GROUP BY item",
        "ITEM WINDOWSTART N TOTAL", lambda made: windowed(made.events, 20_000, 10_000), keys=2,
    ),
    _table(
        "visits", "window",
        "SELECT usr, COUNT(*) AS n FROM events WINDOW SESSION (1 SECONDS) GROUP BY usr",
        "USR WINDOWSTART WINDOWEND N", lambda made: sessions(made.events), keys=3,
    ),
    _stream(
        "placed", "join",
        "SELECT e.usr AS usr, e.seq AS seq, u.city AS city FROM events e "
        "LEFT JOIN users u ON e.usr = u.usr",
        "SEQ CITY", lambda made: ((one.usr, one.seq, city_of(one.usr)) for one in made.events),
    ),
    _table(
        "by_city", "join", "SELECT city, COUNT(*) AS n FROM placed GROUP BY city", "CITY N",
        lambda made: by(known(made), lambda one: city_of(one.usr), _count),
    ),
    _table(
        "where_from", "join",
        "SELECT t.usr AS usr, t.n AS n, u.city AS city FROM by_user t JOIN users u "
        "ON t.usr = u.usr",
        "USR N CITY",
        lambda made: by(known(made), lambda one: one.usr, lambda g: (len(g), city_of(g[0].usr))),
    ),
    _stream(
        "pairs", "join",
        "SELECT e.usr AS usr, e.seq AS event, c.seq AS click FROM events e JOIN clicks c "
        "WITHIN 1 SECONDS GRACE PERIOD 5 MINUTES ON e.usr = c.usr",
        "EVENT CLICK", pairs,
    ),
)  # fmt: skip
