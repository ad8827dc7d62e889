"""NEXMark queries q0 to q8 as topologies, and as SQL over the same events for DuckDB.

Results are compared as rows: all records of a stream, the last row of each key of a table.
Differences from the public definitions:

    q4, q6   the highest bid is emitted whenever it rises instead of when the auction expires;
             the SQL does the same
    q5, q7   among auctions with the same rank, only the one with the largest id is emitted:
             `top_k` has one row
    q6       the last ten auctions of a seller are those that expire last, expired or not
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.nexmark_events import SCHEMAS

from duolog import Topology, avg, coalesce, col, count, hopping, last, lit, max_, top_k, tumbling
from duolog.dsl.streams import Stream, Table

Row = tuple[object, ...]
WINDOW: Final = "10 seconds"
GRACE: Final = "10 seconds"
LAST: Final = 10
"""Number of auctions per seller that q6 averages."""


class Sources:
    """The three topics in a topology, each read once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    def stream(self, topic: str) -> Stream:
        key, value = SCHEMAS[topic]
        return self._topology.stream(topic, key=f"{key} BIGINT", value=value)

    def table(self, topic: str, key: str = "id") -> Table:
        """Return the topic as a table with the key column `key`."""
        return self._topology.table(topic, key=f"{key} BIGINT", value=SCHEMAS[topic][1])


@dataclass(frozen=True)
class Query:
    """A query in both languages."""

    reads: tuple[str, ...]
    build: Callable[[Sources], Any]
    row: Callable[[tuple[int, ...], dict[str, Any]], Row]
    """Converts the numbers of a result's key, and its value, to the row that the SQL selects."""
    sql: str
    is_table: bool = True
    settles: bool = True
    """True if results in Kafka Streams are delayed until a commit."""
    in_streams: bool = True
    """True if `Nexmark.java` implements it."""


def numbers_of(key: bytes) -> tuple[int, ...]:
    """Return the BIGINTs in a key, including the start of a window."""
    return struct.unpack(f">{len(key) // 8}q", key)


def winning_bids(sources: Sources) -> Table:
    """Return the highest bid of each auction until it expires, with the needed columns."""
    auctions = sources.table("auctions", key="auction")
    auctions = auctions.map_values("seller", "category", "expires", opens=col("date_time"))
    bids = sources.stream("bids").join(auctions)
    valid = bids.filter(col("date_time").between(col("opens"), col("expires")))
    return valid.group_by("auction", "category", "seller", "expires").aggregate(final=max_("price"))


def q0(sources: Sources) -> Stream:
    return sources.stream("bids")


def q1(sources: Sources) -> Stream:
    return sources.stream("bids").with_columns(price=col("price") * 0.908)


def q2(sources: Sources) -> Stream:
    return sources.stream("bids").filter(col("auction") % 123 == 0).map_values("price")


def q3(sources: Sources) -> Table:
    people = sources.table("people").filter(col("state").isin("OR", "ID", "CA"))
    auctions = sources.table("auctions").filter(col("category") == 10).map_values("seller")
    return auctions.join(
        people.map_values("name", "city", "state"), on="seller", select=["name", "city", "state"]
    )


def q4(sources: Sources) -> Table:
    return winning_bids(sources).group_by("category").aggregate(average=avg("final"))


def q5(sources: Sources) -> Table:
    bids = sources.stream("bids").group_by_key()
    counted = bids.windowed_by(hopping(WINDOW, "2 seconds", grace=GRACE)).count("bids")
    return counted.group_by("window_start").aggregate(hot=top_k("bids", 1, "auction"))


def q6(sources: Sources) -> Table:
    of_seller = winning_bids(sources).group_by("seller")
    latest = of_seller.aggregate(latest=top_k("expires", LAST, "final"))
    places = [col("latest")[place]["final"] for place in range(LAST)]
    total, found = lit(0).cast("BIGINT"), lit(0).cast("BIGINT")
    for final in places:
        total = total + coalesce(final, lit(0))
        found = found + coalesce(final - final + 1, lit(0))
    return latest.map_values(average=total / found)


def q7(sources: Sources) -> Table:
    everything = sources.stream("bids").group_by(all=lit(0).cast("BIGINT"))
    windows = everything.windowed_by(tumbling(WINDOW, grace=GRACE))
    return windows.aggregate(highest=top_k("price", 1, "auction"))


def q8(sources: Sources) -> Table:
    windows = tumbling(WINDOW, grace=GRACE)
    people = sources.stream("people").group_by_key().windowed_by(windows)
    sellers = sources.stream("auctions").group_by(id=col("seller")).windowed_by(windows)
    names = people.aggregate(name=last("name"))
    return names.join(sellers.aggregate(auctions=count()), select=["name"])


WINNING: Final = """(
    SELECT auctions.id, seller, category, expires, max(price) AS final
    FROM auctions JOIN bids ON auctions.id = bids.auction
    WHERE bids.date_time BETWEEN auctions.date_time AND expires GROUP BY ALL
)"""

QUERIES: Final = {
    "q0": Query(
        ("bids",),
        q0,
        lambda key, bid: (*key, bid["bidder"], bid["price"], bid["channel"], bid["date_time"]),
        "SELECT auction, bidder, price, channel, date_time FROM bids",
        is_table=False,
        settles=False,
    ),
    "q1": Query(
        ("bids",),
        q1,
        lambda key, bid: (*key, bid["bidder"], bid["price"], bid["channel"], bid["date_time"]),
        "SELECT auction, bidder, price * 0.908::DOUBLE, channel, date_time FROM bids",
        is_table=False,
        settles=False,
    ),
    "q2": Query(
        ("bids",),
        q2,
        lambda key, bid: (*key, bid["price"]),
        "SELECT auction, price FROM bids WHERE auction % 123 = 0",
        is_table=False,
        settles=False,
    ),
    "q3": Query(
        ("auctions", "people"),
        q3,
        lambda key, row: (*key, row["name"], row["city"], row["state"]),
        """SELECT auctions.id, name, city, state FROM auctions JOIN people ON seller = people.id
        WHERE category = 10 AND state IN ('OR', 'ID', 'CA')""",
    ),
    "q4": Query(
        ("auctions", "bids"),
        q4,
        lambda key, row: (*key, row["average"]),
        f"SELECT category, avg(final) FROM {WINNING} GROUP BY category",  # noqa: S608 - no input
    ),
    "q5": Query(
        ("bids",),
        q5,
        lambda key, row: (*key, row["hot"][0]["bids"], row["hot"][0]["auction"]),
        """SELECT start, max(bids), arg_max(auction, (bids, auction)) FROM (
            SELECT auction, start, count(*) AS bids FROM (
                SELECT auction, unnest(
                    range(date_time - date_time % 2000 - 8000, date_time + 1, 2000)
                ) AS start FROM bids
            ) GROUP BY ALL
        ) GROUP BY start""",
        in_streams=False,
    ),
    "q6": Query(
        ("auctions", "bids"),
        q6,
        lambda key, row: (*key, row["average"]),
        f"""SELECT seller, avg(final) FROM (
            SELECT seller, final,
                row_number() OVER (PARTITION BY seller ORDER BY expires DESC, final DESC) AS place
            FROM {WINNING}
        ) WHERE place <= {LAST} GROUP BY seller""",  # noqa: S608
        in_streams=False,
    ),
    "q7": Query(
        ("bids",),
        q7,
        lambda key, row: (key[1], row["highest"][0]["price"], row["highest"][0]["auction"]),
        """SELECT date_time - date_time % 10000, max(price), arg_max(auction, (price, auction))
        FROM bids GROUP BY 1""",
    ),
    "q8": Query(
        ("people", "auctions"),
        q8,
        lambda key, row: (*key, row["name"]),
        """SELECT DISTINCT people.id, people.date_time - people.date_time % 10000, name
        FROM people JOIN auctions
        ON people.id = seller AND people.date_time // 10000 = auctions.date_time // 10000""",
    ),
}
