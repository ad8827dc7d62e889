"""The demo's topology in Duolog's DSL.

    flights ─▶ left join airlines ─┬─▶ by carrier ───────────▶ flights-by-airline
    (key carrier)                  └─▶ key dest ─▶ left join airports ─▶ by dest
                                                             └─▶ flights-by-destination

The joined stream feeds both aggregates and is computed once. The joins are left joins, because four
destinations in Puerto Rico and the Virgin Islands are missing from the airports, and no flight may
be lost. A cancelled flight has no delay; every aggregate except `flights` ignores null.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from duolog import Topology, avg, col, count, max_, sum_
from duolog.cli.demo.topics import AIRLINES, AIRPORTS, BY_AIRLINE, BY_DESTINATION, FLIGHTS
from duolog.plan.formats import JSON, Format

if TYPE_CHECKING:
    from duolog.dsl.streams import Grouped, Table

APPLICATION_ID: Final = "flights"

FLIGHT_COLUMNS: Final = (
    "flight BIGINT, tailnum STRING, origin STRING, dest STRING, dep_delay BIGINT, "
    "arr_delay BIGINT, distance BIGINT, produced_at BIGINT"
)


def flights_topology(format_of: Callable[[str], Format] = lambda _: JSON) -> Topology:
    """Return the topology of the demo.

    Args:
        format_of: returns the format of a topic's values.
    """
    topology = Topology(APPLICATION_ID)
    flights = topology.stream(
        FLIGHTS, key="carrier STRING", value=FLIGHT_COLUMNS, value_format=format_of(FLIGHTS)
    )
    airlines = topology.table(
        AIRLINES, key="carrier STRING", value="name STRING", value_format=format_of(AIRLINES)
    )
    airports = topology.table(
        AIRPORTS, key="faa STRING", value="name STRING", value_format=format_of(AIRPORTS)
    )

    with_airline = flights.left_join(airlines, prefix="airline_")
    by_airline = with_airline.group_by_key()
    delays(by_airline, "airline_name").to(BY_AIRLINE, value_format=format_of(BY_AIRLINE))

    with_airport = with_airline.left_join(airports, on="dest", prefix="airport_")
    by_destination = with_airport.group_by_key()
    delays(by_destination, "airport_name").to(
        BY_DESTINATION, value_format=format_of(BY_DESTINATION)
    )
    return topology


def delays(flights: "Grouped", name_column: str) -> "Table":
    """(key K, flight…) → (key K, name, flights, delay_count, delay_sum, delay_mean, …)."""
    return flights.aggregate(
        name=max_(col(name_column)),
        flights=count(),
        delay_count=count(col("dep_delay")),
        delay_sum=sum_(col("dep_delay")),
        delay_mean=avg(col("dep_delay")),
        delay_max=max_(col("dep_delay")),
        last_produced_at=max_(col("produced_at")),
    )
